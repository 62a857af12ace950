package plugin

import (
	"context"
	"sync"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

const theImporter = "the importer"

// importerServer serves one importer to one host.
type importerServer struct {
	pluginv1.UnimplementedDirectoryImporterServer
	log hclog.Logger

	mu       sync.Mutex
	importer directory.Importer // nil until configured and after its end
}

func (s *importerServer) use(i directory.Importer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.importer = i
}

func (s *importerServer) current() directory.Importer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.importer
}

// stop ends the importer, once.
func (s *importerServer) stop() error {
	s.mu.Lock()
	importer := s.importer
	s.importer = nil
	s.mu.Unlock()
	if importer == nil {
		return nil
	}
	return importer.Close()
}

// Import sends the begin at once, for the host's progress, and then in chunks; what
// an importer told before its error still arrives.
func (s *importerServer) Import(q *pluginv1.ImportRequest, st grpc.ServerStreamingServer[pluginv1.ImportChunk]) error {
	importer := s.current()
	if importer == nil {
		return failureStatus(closedKind(theImporter), theImporter, false, s.log)
	}
	if len(q.GetCursor()) > maxCursor {
		return failureStatus(authz.Validation("a cursor has at most %d bytes", maxCursor), theImporter, false, s.log)
	}
	var order reading
	chunk, size := &pluginv1.ImportChunk{}, 0
	flush := func() error {
		if len(chunk.Entries) == 0 {
			return nil
		}
		err := st.Send(chunk)
		chunk, size = &pluginv1.ImportChunk{}, 0
		return err
	}
	for entry, err := range importer.Import(st.Context(), directory.Request{Cursor: q.GetCursor()}) {
		var m *pluginv1.ImportEntry
		if err == nil {
			m, err = order.encode(entry)
		}
		if err != nil {
			if lost := flush(); lost != nil {
				return lost
			}
			return failureStatus(err, theImporter, false, s.log)
		}
		n := rowSize(m)
		if len(chunk.Entries) == chunkRows || size+n > chunkBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		chunk.Entries, size = append(chunk.Entries, m), size+n
		if order.entries == 1 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (s *importerServer) CloseImporter(context.Context, *pluginv1.CloseImporterRequest) (*pluginv1.CloseImporterReply, error) {
	return &pluginv1.CloseImporterReply{}, failureStatus(s.stop(), theImporter, false, s.log)
}
