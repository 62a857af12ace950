package provider

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
)

// maxPage is the largest page that a list is asked for.
const maxPage = 10_000

// Rows reads a list row by row as it arrives; nothing of it is kept. What one call
// for a page does not give is asked for with the key of the last row.
func (i invoker) Rows(ctx context.Context, op *Operation, in any, row func(any) error) error {
	pages, paged := in.(interface{ paged() *Paged })
	if !paged {
		return i.stream(ctx, op, in, row)
	}
	page := pages.paged()
	for left := page.Limit; ; {
		asked, got := min(left, maxPage), 0
		page.Limit = asked
		err := i.stream(ctx, op, in, func(r any) error {
			page.After, _ = op.Key(in, r).(string)
			got++
			return row(r)
		})
		if left -= got; err != nil || asked == 0 || got < asked || left <= 0 {
			return err
		}
	}
}

func (i invoker) stream(ctx context.Context, op *Operation, in any, row func(any) error) error {
	params, err := sendable(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, i.h.timeout)
	defer cancel()
	var stopped error
	err = i.h.caller.rows(ctx, op.Op, params, op.List, maxAnswer, func(d *json.Decoder) error {
		r := reflect.New(op.output)
		if err := d.Decode(r.Interface()); err != nil {
			return err
		}
		if stopped = row(r.Interface()); stopped != nil {
			return errStopped
		}
		return nil
	})
	if stopped != nil {
		return stopped
	}
	return err
}

// Rows posts params and hands the rows of the list under field to row as they
// arrive. Nothing is kept, so that an answer may be of any length. An error of
// row's ends it and is returned.
func Rows[T any](ctx context.Context, c *Caller, op string, params any, field string, row func(T) error) error {
	var stopped error
	err := c.rows(ctx, op, params, field, math.MaxInt64, func(d *json.Decoder) error {
		var r T
		if err := d.Decode(&r); err != nil {
			return err
		}
		if stopped = row(r); stopped != nil {
			return errStopped
		}
		return nil
	})
	if stopped != nil {
		return stopped
	}
	return err
}

func (c *Caller) rows(ctx context.Context, op string, params any, name string, limit int64, row func(*json.Decoder) error) error {
	a, err := c.ask(ctx, op, params)
	if err != nil {
		return err
	}
	defer a.body.Close()
	if a.status < 200 || a.status > 299 {
		_, err := a.object()
		return err
	}
	body := &bounded{r: a.body, left: limit}
	in := bufio.NewReader(body)
	if !beginsObject(in) {
		a.body = io.NopCloser(in)
		_, err := a.object()
		return err
	}
	d := json.NewDecoder(in)
	err = readMembers(d, a, name, row)
	if errors.Is(err, errStopped) {
		return err // whatever else went wrong, nobody wants to hear of it
	}
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		if body.failed == nil {
			return a.notJSON()
		}
	}
	switch {
	case body.failed != nil:
		return failed(a.endpoint, body.failed)
	case isSyntax(err):
		return a.notJSON()
	}
	return err
}

// beginsObject looks at the first byte that is no space, and leaves it.
func beginsObject(in *bufio.Reader) bool {
	for {
		switch b, err := in.ReadByte(); {
		case err != nil:
			return false
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
		default:
			_ = in.UnreadByte() // right after ReadByte it never fails
			return b == '{'
		}
	}
}

func readMembers(d *json.Decoder, a *answer, name string, row func(*json.Decoder) error) error {
	if _, err := d.Token(); err != nil { // the brace
		return err
	}
	seen := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case name:
			if open, err := d.Token(); err != nil || open != json.Delim('[') {
				if err == nil {
					err = a.unusable(name)
				}
				return err
			}
			for d.More() {
				if err := row(d); err != nil {
					return rowError(a, name, err)
				}
			}
			if _, err := d.Token(); err != nil {
				return err
			}
			seen = true
		case "error":
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return err
			}
			var w WireError
			if json.Unmarshal(raw, &w) == nil && w.Name != "" {
				return a.raised(&w)
			}
		default:
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return err
			}
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if !seen {
		return a.unusable(name)
	}
	return nil
}

// rowError tells a row of the wrong shape from JSON that is broken.
func rowError(a *answer, name string, err error) error {
	if errors.Is(err, errStopped) || isSyntax(err) {
		return err
	}
	return a.unusable(name)
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// bounded reads at most left bytes and keeps what went wrong with the transport.
type bounded struct {
	r      io.Reader
	left   int64
	failed error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed // the first failure is the cause of the others
	}
	if b.left <= 0 {
		b.failed = fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
		return 0, b.failed
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && err != io.EOF {
		b.failed = err
	}
	return n, err
}
