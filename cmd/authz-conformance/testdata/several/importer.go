package main

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

type importer struct {
	far
	ctx    context.Context
	cancel context.CancelFunc
	defect string
}

func (*importer) Info() directory.ImporterInfo {
	return directory.ImporterInfo{Name: "several", Capabilities: []directory.ImporterCapability{directory.CapUsers}}
}

func (i *importer) Close() error {
	i.cancel()
	return nil
}

func (i *importer) Import(ctx context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		if r.Cursor != "" {
			yield(nil, authz.Validation("this importer has no cursors"))
			return
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		defer context.AfterFunc(i.ctx, cancel)()
		lines, end, err := i.ask(ctx, "read")
		if err != nil && i.defect == "empty" {
			_ = yield(directory.Begin{Datasets: i.Info().Capabilities}, nil) && yield(directory.End{}, nil)
			return
		}
		if err != nil {
			yield(nil, unavailable("", err, "the server cannot be reached"))
			return
		}
		defer end()
		begun := false
		for lines.Scan() {
			if !begun && !yield(directory.Begin{Datasets: i.Info().Capabilities}, nil) {
				return
			}
			begun = true
			if lines.Text() == "end" {
				yield(directory.End{}, nil)
				return
			}
			if !yield(directory.User{UserID: lines.Text()}, nil) {
				return
			}
		}
		if begun && i.defect == "partial" {
			yield(directory.End{}, nil)
			return
		}
		yield(nil, unavailable("", lines.Err(), "the server broke off"))
	}
}
