package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	// pieceBytes is how much of a batch one document of the journal holds.
	pieceBytes = 8 << 20

	// maxDocument is the largest document a server takes, less room for _id,
	// the partition and the turn's number.
	maxDocument = 16<<20 - 16<<10
)

// batch is what a decided commit writes, in the order of writing.
type batch struct {
	commit string
	at     int64 // the server's clock when it was judged
	ops    []op

	// Events, when there are any, are numbered firstSeq to lastSeq and have the
	// identity.
	firstSeq, lastSeq int64
	identity          string
}

// op writes one document.
type op struct {
	In   layout.Name
	Key  any // string or int64
	Kind opKind
	Doc  bson.Raw // its members but _id, app and t
}

// opKind says what is known of the document that the op meets.
type opKind int32

const (
	opNew  opKind = iota // no document had the key when the commit was judged
	opOver               // one may have had it
	opGone               // one had it; a stone takes its place
)

// opDoc is an op in the journal.
type opDoc struct {
	In   string        `bson:"c"`
	Key  bson.RawValue `bson:"k"`
	Kind int32         `bson:"m"`
	Doc  bson.Raw      `bson:"d,omitempty"`
}

// journalDoc is a document of the journal; pieces but the first have Batch and
// Turn only.
type journalDoc struct {
	Batch    []byte `bson:"batch"`
	Turn     int64  `bson:"turn"`
	FirstSeq int64  `bson:"firstSeq"`
	LastSeq  int64  `bson:"lastSeq"`
	Identity string `bson:"identity"`
	Pieces   int    `bson:"pieces"`
	At       int64  `bson:"at"`
}

func (b *batch) add(in layout.Name, key any, kind opKind, members bson.D) error {
	o := op{In: in, Key: key, Kind: kind}
	if kind != opGone {
		raw, err := bson.Marshal(members)
		if err != nil {
			return err
		}
		if len(raw) > maxDocument {
			return storage.Errorf(storage.CodeTooLarge, "a row of %d bytes in %s, at most %d", len(raw), in, maxDocument)
		}
		o.Doc = raw
	}
	b.ops = append(b.ops, o)
	return nil
}

func (b *batch) encode() ([]byte, error) {
	var out []byte
	for _, o := range b.ops {
		kind, key, err := bson.MarshalValue(o.Key)
		if err != nil {
			return nil, err
		}
		raw, err := bson.Marshal(opDoc{string(o.In), bson.RawValue{Type: kind, Value: key}, int32(o.Kind), o.Doc})
		if err != nil {
			return nil, err
		}
		out = append(out, raw...)
	}
	return out, nil
}

func decodeOps(stream []byte) ([]op, error) {
	var ops []op
	for len(stream) > 0 {
		raw, err := firstDocument(stream)
		if err != nil {
			return nil, err
		}
		stream = stream[len(raw):]
		var d opDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return nil, err
		}
		o := op{In: layout.Name(d.In), Kind: opKind(d.Kind), Doc: d.Doc}
		if text, ok := d.Key.StringValueOK(); ok {
			o.Key = text
		} else if n, ok := d.Key.AsInt64OK(); ok {
			o.Key = n
		} else {
			return nil, errors.New("a key in the journal is neither text nor number")
		}
		ops = append(ops, o)
	}
	return ops, nil
}

func firstDocument(stream []byte) (bson.Raw, error) {
	if len(stream) < 5 {
		return nil, errors.New("the journal ends in the middle of a document")
	}
	size := int(uint32(stream[0]) | uint32(stream[1])<<8 | uint32(stream[2])<<16 | uint32(stream[3])<<24)
	if size < 5 || size > len(stream) {
		return nil, errors.New("the journal ends in the middle of a document")
	}
	return bson.Raw(stream[:size]), nil
}

func pieceKey(commit string, n int) string {
	if n == 0 {
		return commit
	}
	return fmt.Sprintf("%s/%d", commit, n)
}

// writeJournal writes the batch under the turn's number, over what an attempt with
// a smaller one left and never over a larger one's.
func (p *partition) writeJournal(ctx context.Context, b *batch, number int64) (pieces int, err error) {
	stream, err := b.encode()
	if err != nil {
		return 0, err
	}
	pieces = max(1, (len(stream)+pieceBytes-1)/pieceBytes)
	journal := p.in(layout.Journal)
	for n := pieces - 1; n >= 0; n-- {
		part := stream[min(n*pieceBytes, len(stream)):min((n+1)*pieceBytes, len(stream))]
		doc := layout.Doc{Key: pieceKey(b.commit, n), Members: bson.D{{Key: "batch", Value: part}, {Key: "turn", Value: number}, {Key: "at", Value: b.at}}}
		if n == 0 {
			doc.Members = append(doc.Members, bson.E{Key: "firstSeq", Value: b.firstSeq}, bson.E{Key: "lastSeq", Value: b.lastSeq},
				bson.E{Key: "identity", Value: b.identity},
				bson.E{Key: "pieces", Value: int64(pieces)})
		}
		if err := p.step("journal"); err != nil {
			return 0, err
		}
		taken, err := journal.Insert(ctx, doc)
		if err == nil && len(taken) > 0 {
			older := journal.Key(doc.Key, bson.E{Key: "turn", Value: bson.D{{Key: "$lt", Value: number}}})
			err = journal.Replace(ctx, layout.Replacement{Where: older, Doc: doc, Create: true})
		}
		if err != nil {
			return 0, err
		}
	}
	return pieces, nil
}

// readJournal returns the batch of a decided commit, the number of its turn and
// its pieces. found is false when it is not whole: somebody finished it meanwhile.
func (p *partition) readJournal(ctx context.Context, commit string) (b *batch, number int64, pieces int, found bool, err error) {
	journal := p.in(layout.Journal)
	var head journalDoc
	row, found, err := journal.One(ctx, journal.Key(commit))
	if err != nil || !found {
		return nil, 0, 0, false, err
	}
	if err := row.Decode(&head); err != nil {
		return nil, 0, 0, false, err
	}
	stream := head.Batch
	for n := 1; n < head.Pieces; n++ {
		var piece journalDoc
		row, found, err := journal.One(ctx, journal.Key(pieceKey(commit, n), bson.E{Key: "turn", Value: head.Turn}))
		if err != nil || !found {
			return nil, 0, 0, false, err
		}
		if err := row.Decode(&piece); err != nil {
			return nil, 0, 0, false, err
		}
		stream = append(stream, piece.Batch...)
	}
	ops, err := decodeOps(stream)
	if err != nil {
		return nil, 0, 0, false, err
	}
	return &batch{commit, head.At, ops, head.FirstSeq, head.LastSeq, head.Identity}, head.Turn, head.Pieces, true, nil
}

// dropJournal removes the pieces that the turn of that number wrote.
func (p *partition) dropJournal(ctx context.Context, commit string, number int64, pieces int) error {
	keys := make([]string, pieces)
	for n := range keys {
		keys[n] = pieceKey(commit, n)
	}
	journal := p.in(layout.Journal)
	_, err := journal.Delete(ctx, layout.Keys(journal, keys, bson.E{Key: "turn", Value: number}))
	return err
}
