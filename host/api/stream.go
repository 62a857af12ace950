package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// rowStream writes a list as one JSON object, row by row. The context is the
// request's own: a stream may take longer than an operation.
type rowStream func(ctx context.Context, w io.Writer) error

// streamBuffer is how much of a list is held back before its status is sent: an
// error up to there is still answered as an error.
const streamBuffer = 32 << 10

// listing streams the rows that each hands out under field. With a limit, rows
// beyond it are not written; the key of the last one written is then told as next.
// One row more than the limit is asked for, which tells whether there are others.
func listing(field string, limit *int, each func(ctx context.Context, row func(any) error) error, key func(any) any) action {
	most := 0
	if limit != nil && *limit > 0 {
		most = *limit
		*limit++
	}
	return func(context.Context) (any, error) {
		return rowStream(func(ctx context.Context, to io.Writer) error {
			return writeList(to, nil, field, most, func(row func(any) error) error { return each(ctx, row) }, key)
		}), nil
	}
}

// errEnough ends a list at its limit.
var errEnough = errors.New("no more rows are written")

// writeList writes the members of head, a JSON object or nil, then rows under
// field.
func writeList(to io.Writer, head any, field string, limit int, each func(row func(any) error) error, key func(any) any) error {
	w := bufio.NewWriterSize(to, streamBuffer)
	w.WriteByte('{')
	if head != nil {
		members, err := authz.Marshal(head)
		if err != nil {
			return err
		}
		w.Write(members[1 : len(members)-1])
		w.WriteByte(',')
	}
	w.WriteString(`"` + field + `":[`)
	row := newRowEncoder(w)
	n := 0
	var next any
	err := each(func(item any) error {
		if limit > 0 && n == limit {
			return errEnough
		}
		if n > 0 {
			w.WriteByte(',')
		}
		if n++; n == limit {
			next = key(item)
		}
		return row.write(item)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	w.WriteByte(']')
	if err != nil {
		w.WriteString(`,"next":`)
		if err := row.write(next); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return w.Flush()
}

// handing hands out the rows of a sequence.
func handing[T any](rows iter.Seq2[T, error]) func(row func(any) error) error {
	return func(row func(any) error) error {
		for r, err := range rows {
			if err != nil {
				return err
			}
			if err := row(&r); err != nil {
				return err
			}
		}
		return nil
	}
}

// rowEncoder writes values without the newline and the HTML escaping of
// encoding/json, through one scratch buffer.
type rowEncoder struct {
	to      *bufio.Writer
	scratch bytes.Buffer
	enc     *json.Encoder
}

func newRowEncoder(to *bufio.Writer) *rowEncoder {
	e := &rowEncoder{to: to}
	e.enc = json.NewEncoder(&e.scratch)
	e.enc.SetEscapeHTML(false)
	return e
}

// write reports errors of the writer as well: a bufio.Writer keeps its first.
func (e *rowEncoder) write(v any) error {
	e.scratch.Reset()
	if err := e.enc.Encode(v); err != nil {
		return err
	}
	_, err := e.to.Write(bytes.TrimSuffix(e.scratch.Bytes(), []byte("\n")))
	return err
}
