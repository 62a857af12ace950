package plugin

import (
	"context"
	"sync"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/metrics"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

const theSink = "the sink"

// sinkServer serves one sink to one host.
type sinkServer struct {
	pluginv1.UnimplementedMetricsSinkServer
	log hclog.Logger

	mu   sync.Mutex
	sink metrics.Sink // nil until configured and after its end
}

func (s *sinkServer) use(sink metrics.Sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sink = sink
}

func (s *sinkServer) current() metrics.Sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sink
}

// stop ends the sink, once.
func (s *sinkServer) stop(ctx context.Context) error {
	s.mu.Lock()
	sink := s.sink
	s.sink = nil
	s.mu.Unlock()
	if sink == nil {
		return nil
	}
	return sink.Close(ctx)
}

func (s *sinkServer) Write(st grpc.ClientStreamingServer[pluginv1.WindowPart, pluginv1.WriteReply]) error {
	w, err := receiveWindow(st.Recv)
	if err != nil {
		return failureStatus(err, theSink, true, s.log)
	}
	sink := s.current()
	if sink == nil {
		return failureStatus(closedKind(theSink), theSink, true, s.log)
	}
	if err := sink.Write(st.Context(), w); err != nil {
		return failureStatus(err, theSink, true, s.log)
	}
	return st.SendAndClose(&pluginv1.WriteReply{})
}

func (s *sinkServer) CloseSink(ctx context.Context, _ *pluginv1.CloseSinkRequest) (*pluginv1.CloseSinkReply, error) {
	return &pluginv1.CloseSinkReply{}, failureStatus(s.stop(ctx), theSink, true, s.log)
}
