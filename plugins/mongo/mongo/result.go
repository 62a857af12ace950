package mongo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// plainResult is up to which length a result is kept as text that people can
// read; longer ones, of commits that delete many rows, are compressed.
const plainResult = 64 << 10

type resultDoc struct {
	Results []changeResultDoc `json:"results"`
	UpTo    int64             `json:"upTo,omitempty"`

	// Identity is that of the event UpTo.
	Identity string `json:"identity,omitempty"`
}

type changeResultDoc struct {
	Grant   *authz.Grant   `json:"grant,omitempty"`
	Revoke  *authz.Revoke  `json:"revoke,omitempty"`
	Request *authz.Request `json:"request,omitempty"`
	Version int64          `json:"version,omitempty"`
}

// commitDoc is the record of an applied commit. T is the number of its turn.
type commitDoc struct {
	Digest string        `bson:"digest"`
	Result bson.RawValue `bson:"result"`
	T      int64         `bson:"t"`
}

func commitMembers(digest storage.Digest, r storage.CommitResult, at int64) (bson.D, error) {
	doc := resultDoc{Results: make([]changeResultDoc, len(r.Results)), UpTo: r.UpTo.Seq, Identity: r.UpTo.Identity}
	for i, c := range r.Results {
		doc.Results[i] = changeResultDoc(c)
	}
	text, err := authz.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var kept any = string(text)
	if len(text) > plainResult {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is a valid one
		_, err := w.Write(text)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return nil, err
		}
		kept = packed.Bytes()
	}
	return bson.D{{Key: "digest", Value: digest.String()}, {Key: "result", Value: kept}, {Key: "at", Value: at}}, nil
}

func (d commitDoc) result() (storage.CommitResult, error) {
	text := []byte(nil)
	if s, ok := d.Result.StringValueOK(); ok {
		text = []byte(s)
	} else if _, packed, ok := d.Result.BinaryOK(); ok {
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return storage.CommitResult{}, err
		}
		if text, err = io.ReadAll(r); err != nil {
			return storage.CommitResult{}, err
		}
	}
	var doc resultDoc
	if err := json.Unmarshal(text, &doc); err != nil {
		return storage.CommitResult{}, err
	}
	out := storage.CommitResult{Results: make([]storage.ChangeResult, len(doc.Results)),
		UpTo: authz.Position{Seq: doc.UpTo, Identity: doc.Identity}}
	for i, c := range doc.Results {
		out.Results[i] = storage.ChangeResult(c)
	}
	return out, nil
}
