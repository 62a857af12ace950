package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// rowsOf is a list as the application yields it.
type rowsOf[T any] = iter.Seq2[T, error]

// rowStream writes a list as one JSON object, row by row. The context is the
// request's own: a stream may take longer than an operation.
type rowStream func(ctx context.Context, w io.Writer) error

// streamBuffer is how much of a list is held back before its status is sent: an
// error up to there is still answered as an error.
const streamBuffer = 32 << 10

// listing streams open's rows under field. With a limit above 0 the rows beyond
// it are not written; the key of the last one written is then told as next.
func listing[T any](field string, limit int, open func(context.Context) rowsOf[T], key func(T) any) action {
	return func(context.Context) (any, error) {
		return rowStream(func(ctx context.Context, to io.Writer) error {
			return writeList(to, nil, field, limit, open(ctx), key)
		}), nil
	}
}

// writeList writes the members of head, a JSON object or nil, then rows under
// field.
func writeList[T any](to io.Writer, head any, field string, limit int, rows rowsOf[T], key func(T) any) error {
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
	n, more := 0, false
	var last T
	for item, err := range rows {
		if err != nil {
			return err
		}
		if more = limit > 0 && n == limit; more {
			break
		}
		if n > 0 {
			w.WriteByte(',')
		}
		if err := row.write(item); err != nil {
			return err
		}
		last = item
		n++
	}
	w.WriteByte(']')
	if more {
		w.WriteString(`,"next":`)
		if err := row.write(key(last)); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return w.Flush()
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
