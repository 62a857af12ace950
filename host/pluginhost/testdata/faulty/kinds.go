package main

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// asKinds makes the plugin one of every kind but storage.
func asKinds(p *plugin.Plugin) {
	p.Storage = plugin.StorageKind{}
	p.Sink.Configure = func(context.Context, map[string]any) (metrics.Sink, error) { return sink{}, nil }
	p.Importer.Configure = func(context.Context, map[string]any) (directory.Importer, error) { return importer{}, nil }
}

// sink does what a window's application says.
type sink struct{}

func (sink) Info() metrics.SinkInfo { return metrics.SinkInfo{Name: "faulty"} }

func (sink) Write(ctx context.Context, w metrics.Window) error {
	switch w.Application {
	case "hang":
		fmt.Printf("a window hangs in %d.\n", os.Getpid()) // in the host's log
		<-ctx.Done()
		return ctx.Err()
	case "panic":
		panic("faulty: a window")
	case "refuse":
		return authz.Rejected(authz.CodeConflict, "window %d was taken already", w.Sequence)
	}
	return nil
}

func (sink) Close(context.Context) error {
	fmt.Println("the sink is closed") // in the host's log
	return nil
}

// importer does what the cursor says after two entries.
type importer struct{}

func (importer) Info() directory.ImporterInfo { return directory.ImporterInfo{Name: "faulty"} }

func (importer) Import(ctx context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		if !yield(directory.Begin{}, nil) || !yield(directory.User{UserID: "u"}, nil) {
			return
		}
		switch r.Cursor {
		case "hang":
			<-ctx.Done()
			yield(nil, ctx.Err())
		case "panic":
			panic("faulty: a reading")
		default:
			yield(directory.End{}, nil)
		}
	}
}

func (importer) Close() error { return nil }
