package plugin

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// sinkClient is the host's side of a plugin's sink.
type sinkClient struct {
	rpc  pluginv1.MetricsSinkClient
	info metrics.SinkInfo
}

func (s *sinkClient) Info() metrics.SinkInfo {
	return metrics.SinkInfo{Name: s.info.Name, Capabilities: slices.Clone(s.info.Capabilities)}
}

func (s *sinkClient) Write(ctx context.Context, w metrics.Window) error {
	if err := w.Validate(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return unavailable(authz.OutcomeNotApplied, err, "the caller stopped waiting")
	}
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := s.rpc.Write(callCtx)
	if err != nil {
		return failureFromWire(ctx, err, authz.OutcomeNotApplied)
	}
	// The plugin starts when the end is there: before that nothing can have
	// happened.
	lost := authz.OutcomeNotApplied
	for part := range windowParts(&w) {
		if part.GetEnd() {
			lost = authz.OutcomeUnknown
		}
		if err := st.Send(part); err != nil {
			if !errors.Is(err, io.EOF) { // else its answer stands already
				return failureFromWire(ctx, err, lost)
			}
			break
		}
	}
	_, err = st.CloseAndRecv()
	return failureFromWire(ctx, err, lost)
}

// Close ends the plugin's sink. With a plugin that is gone nothing is left to
// close, but what it had taken may not have been passed on.
func (s *sinkClient) Close(ctx context.Context) error {
	_, err := s.rpc.CloseSink(ctx, &pluginv1.CloseSinkRequest{})
	return failureFromWire(ctx, err, authz.OutcomeUnknown)
}
