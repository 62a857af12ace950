package plugin

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Acquire holds a section while the stream lives. It renews on a beat and never
// by itself: a stopped host must not hold through a healthy plugin.
func (s *storageServer) Acquire(st grpc.BidiStreamingServer[pluginv1.SectionRequest, pluginv1.SectionReply]) error {
	first, err := st.Recv()
	if err != nil {
		return err
	}
	ask := first.GetAcquire()
	store, err := s.store(ask.GetStore())
	if err != nil {
		return toStatus(err, false, s.log)
	}
	section, err := store.Acquire(st.Context(), ask.GetKey())
	if err != nil {
		return toStatus(err, false, s.log)
	}
	err = s.hold(st, section)
	// The host may be gone, and the section must go back all the same.
	ctx, done := context.WithTimeout(context.WithoutCancel(st.Context()), max(section.Lease(), time.Second))
	defer done()
	if released := section.Release(ctx); err == nil {
		err = released
	}
	return toStatus(err, false, s.log)
}

// hold returns nil when the host gave the section back, else why the stream
// broke.
func (s *storageServer) hold(st grpc.BidiStreamingServer[pluginv1.SectionRequest, pluginv1.SectionReply], section storage.Section) error {
	granted := &pluginv1.Granted{Fence: encodeFence(section.Fence()), LeaseMs: section.Lease().Milliseconds()}
	if err := st.Send(&pluginv1.SectionReply{Of: &pluginv1.SectionReply_Granted{Granted: granted}}); err != nil {
		return brokenSection(err)
	}
	for {
		r, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return brokenSection(err)
		}
		renewed := &pluginv1.Renewed{Beat: r.GetBeat()}
		if err := section.Renew(st.Context()); err != nil {
			renewed.Error = encodeError(storageError(err, false, s.log))
		}
		if err := st.Send(&pluginv1.SectionReply{Of: &pluginv1.SectionReply_Renewed{Renewed: renewed}}); err != nil {
			return brokenSection(err)
		}
	}
}

func brokenSection(cause error) error {
	return storage.Unavailable(authz.OutcomeNotApplied, cause, "the section's stream broke")
}
