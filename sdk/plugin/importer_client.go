package plugin

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// importerClient is the host's side of a plugin's importer.
type importerClient struct {
	rpc  pluginv1.DirectoryImporterClient
	info directory.ImporterInfo
}

func (i *importerClient) Info() directory.ImporterInfo {
	return directory.ImporterInfo{Name: i.info.Name, Capabilities: slices.Clone(i.info.Capabilities)}
}

// Import calls the plugin each time that the sequence is used. A reading that ends
// without its End ends in an error.
func (i *importerClient) Import(ctx context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		if len(r.Cursor) > maxCursor || !utf8.ValidString(r.Cursor) {
			yield(nil, authz.Validation("a cursor is a text of at most %d bytes", maxCursor))
			return
		}
		if err := ctx.Err(); err != nil {
			yield(nil, unavailable("", err, "the caller stopped waiting"))
			return
		}
		callCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		st, err := i.rpc.Import(callCtx, &pluginv1.ImportRequest{Cursor: r.Cursor})
		if err != nil {
			yield(nil, failureFromWire(ctx, err, ""))
			return
		}
		var order reading
		for {
			chunk, err := st.Recv()
			switch {
			case errors.Is(err, io.EOF) && order.ended:
				return
			case errors.Is(err, io.EOF):
				yield(nil, unavailable("", nil, "the reading stopped before its end"))
				return
			case unreadableChunk(err):
				yield(nil, authz.Validation("directory reading: what follows entry %d cannot be read", order.entries))
				return
			case err != nil:
				yield(nil, failureFromWire(ctx, err, ""))
				return
			}
			for _, m := range chunk.GetEntries() {
				entry, err := order.decode(m)
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(entry, nil) {
					return
				}
			}
		}
	}
}

// unreadableChunk tells what this side could not read, such as text that is not
// UTF-8 or a message too large, from what the plugin answered.
func unreadableChunk(err error) bool {
	s := status.Convert(err)
	return len(s.Details()) == 0 && (s.Code() == codes.Internal || s.Code() == codes.ResourceExhausted)
}

// Close ends the plugin's importer. A plugin that is gone has nothing left to close.
func (i *importerClient) Close() error {
	ctx, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	_, err := i.rpc.CloseImporter(ctx, &pluginv1.CloseImporterRequest{})
	if gone(err) {
		return nil
	}
	return failureFromWire(ctx, err, "")
}
