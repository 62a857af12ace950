// Package linesink appends windows of metrics to a file, each as one line of JSON:
// a sink as a vendor makes one, from the SDK alone. Whoever ships log files to
// their own system reads it.
//
// A window stands in the file once, however often it is sent: the newest sequence
// of each origin is read from the file when it is opened. The file and the one
// before it are kept, no more. One process has them open.
package linesink

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// Name is the sink's.
const Name = "lines"

// Capabilities are what the sink can do beyond taking windows.
func Capabilities() []metrics.SinkCapability {
	return []metrics.SinkCapability{metrics.SinkRecognises}
}

// Sink appends to one file.
type Sink struct {
	path  string
	limit int64
	turn  chan struct{} // its one element is the right to all that follows

	lock   *os.File
	file   *os.File // nil once closed
	size   int64    // of the whole lines
	torn   bool     // something stands behind them
	newest map[string]uint64
	before map[string]uint64 // of the file before
}

// Open opens the file, or makes it. Of a line that a dead process has left
// unfinished nothing was taken: it is cut off.
func Open(ctx context.Context, path string, limit int64) (*Sink, error) {
	lock, err := acquire(ctx, path+".lock")
	if err != nil {
		return nil, err
	}
	s := &Sink{path: path, limit: limit, turn: make(chan struct{}, 1), lock: lock}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.turn <- struct{}{}
	return s, nil
}

func (s *Sink) Info() metrics.SinkInfo {
	return metrics.SinkInfo{Name: Name, Capabilities: slices.Clone(Capabilities())}
}

// Write returns when the line is on the disk, or when ctx ends: a disk that does
// not answer then goes on without its caller, and keeps the turn.
func (s *Sink) Write(ctx context.Context, w metrics.Window) error {
	if err := w.Validate(); err != nil {
		return err
	}
	line, err := json.Marshal(w)
	if err != nil {
		return authz.Validation("the window cannot be written as JSON")
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		err := s.take(w.Origin, w.Sequence, append(line, '\n'))
		s.turn <- struct{}{}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return &authz.UnavailableError{Message: "the disk did not answer in time", Outcome: authz.OutcomeUnknown, Cause: ctx.Err()}
	}
}

// await takes the turn.
func (s *Sink) await(ctx context.Context) error {
	if ctx.Err() == nil {
		select {
		case <-s.turn:
			return nil
		case <-ctx.Done():
		}
	}
	return &authz.UnavailableError{Message: "an earlier window is not written yet", Outcome: authz.OutcomeNotApplied, Cause: ctx.Err()}
}

// take writes a line once. Windows of one origin come in the order of their
// sequence, so that the newest one tells all that were taken.
func (s *Sink) take(origin string, sequence uint64, line []byte) error {
	if s.file == nil {
		return &authz.UnavailableError{Message: "the sink is closed", Outcome: authz.OutcomeNotApplied}
	}
	if sequence <= max(s.newest[origin], s.before[origin]) {
		return nil // sent again
	}
	if s.size > 0 && s.size+int64(len(line)) > s.limit {
		if err := s.rotate(); err != nil {
			return &authz.UnavailableError{Message: "the full file could not be put aside", Outcome: authz.OutcomeNotApplied, Cause: err}
		}
	}
	if err := s.append(line); err != nil {
		if s.torn { // what stands there may be read
			return &authz.UnavailableError{Message: "the line could not be written", Outcome: authz.OutcomeUnknown, Cause: err}
		}
		return &authz.UnavailableError{Message: "the line could not be written", Outcome: authz.OutcomeNotApplied, Cause: err}
	}
	s.newest[origin] = sequence
	return nil
}

// Close ends the sink. What was taken is on the disk already.
func (s *Sink) Close(ctx context.Context) error {
	if err := s.await(ctx); err != nil {
		return err
	}
	defer func() { s.turn <- struct{}{} }()
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.file.Close(), s.lock.Close())
	s.file = nil
	if err != nil {
		return &authz.UnavailableError{Message: "the file could not be closed", Outcome: authz.OutcomeUnknown, Cause: err}
	}
	return nil
}
