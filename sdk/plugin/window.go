package plugin

import (
	"errors"
	"io"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// maxWindow bounds a reassembled window. One of an aggregator with its default
// caps, and every text at its longest, has about 200 MiB.
const maxWindow = 256 << 20

// windowParts are the parts of a window, each of about chunkBytes.
func windowParts(w *metrics.Window) iter.Seq[*pluginv1.WindowPart] {
	return func(yield func(*pluginv1.WindowPart) bool) {
		part, size := &pluginv1.WindowPart{Head: encodeHead(w)}, 0
		room := func(n int) bool {
			if size > 0 && size+n > chunkBytes {
				if !yield(part) {
					return false
				}
				part, size = &pluginv1.WindowPart{}, 0
			}
			size += n
			return true
		}
		for i := range w.Checks {
			c := encodeCheck(&w.Checks[i])
			if !room(rowSize(c)) {
				return
			}
			part.Checks = append(part.Checks, c)
		}
		for _, list := range []struct {
			rows []metrics.RowCounter
			into func() *[]*pluginv1.RowCounter
		}{
			{w.Grants, func() *[]*pluginv1.RowCounter { return &part.Grants }},
			{w.Revokes, func() *[]*pluginv1.RowCounter { return &part.Revokes }},
			{w.Roles, func() *[]*pluginv1.RowCounter { return &part.Roles }},
		} {
			for i := range list.rows {
				r := encodeRow(&list.rows[i])
				if !room(rowSize(r)) {
					return
				}
				*list.into() = append(*list.into(), r)
			}
		}
		part.End = true
		yield(part)
	}
}

// receiveWindow reassembles one window and holds it to what writers of windows may
// send.
func receiveWindow(recv func() (*pluginv1.WindowPart, error)) (metrics.Window, error) {
	var w metrics.Window
	size := 0
	for first, complete := true, false; ; first = false {
		part, err := recv()
		switch {
		case errors.Is(err, io.EOF) && complete:
			return w, w.Validate()
		case errors.Is(err, io.EOF):
			return w, authz.Validation("metrics window: it ends before its end")
		case err != nil: // of a part that cannot be read gRPC has told the sender
			return w, unavailable(authz.OutcomeNotApplied, err, "the window broke off")
		case complete:
			return w, authz.Validation("metrics window: it goes on after its end")
		case first == (part.GetHead() == nil):
			return w, authz.Validation("metrics window: its first part, and no other, has a head")
		}
		if size += proto.Size(part); size > maxWindow {
			return w, authz.Validation("metrics window: more than %d bytes", maxWindow)
		}
		if first {
			decodeHead(part.GetHead(), &w)
		}
		w.Checks = append(w.Checks, mapRows(part.GetChecks(), decodeCheck)...)
		w.Grants = append(w.Grants, mapRows(part.GetGrants(), decodeRow)...)
		w.Revokes = append(w.Revokes, mapRows(part.GetRevokes(), decodeRow)...)
		w.Roles = append(w.Roles, mapRows(part.GetRoles(), decodeRow)...)
		if n := len(w.Checks) + len(w.Grants) + len(w.Revokes) + len(w.Roles); n > metrics.MaxWindowCounters {
			return w, authz.Validation("metrics window: more than %d counters", metrics.MaxWindowCounters)
		}
		complete = part.GetEnd()
	}
}

func encodeHead(w *metrics.Window) *pluginv1.WindowHead {
	return &pluginv1.WindowHead{
		Application: w.Application, Origin: w.Origin, Sequence: w.Sequence,
		InstanceId: w.InstanceID, WindowStart: w.WindowStart, WindowEnd: w.WindowEnd,
		DistinctPrincipals: w.Principals.Distinct, PrincipalsOverflowed: w.Principals.Overflowed, Dropped: w.Dropped,
	}
}

func decodeHead(h *pluginv1.WindowHead, w *metrics.Window) {
	w.Application, w.Origin, w.Sequence = h.GetApplication(), h.GetOrigin(), h.GetSequence()
	w.InstanceID, w.WindowStart, w.WindowEnd = h.GetInstanceId(), h.GetWindowStart(), h.GetWindowEnd()
	w.Principals = metrics.PrincipalsCount{Distinct: h.GetDistinctPrincipals(), Overflowed: h.GetPrincipalsOverflowed()}
	w.Dropped = h.GetDropped()
}

func encodeCheck(c *metrics.CheckCounter) *pluginv1.CheckCounter {
	return &pluginv1.CheckCounter{
		Permission: c.Permission, Decision: string(c.Decision), Shape: string(c.Shape), Gate: c.Gate,
		ScopeType: c.ScopeType, Scope: c.Scope, Observed: c.Observed, Estimated: c.Estimated,
	}
}

func decodeCheck(c *pluginv1.CheckCounter) metrics.CheckCounter {
	return metrics.CheckCounter{
		Permission: c.GetPermission(), Decision: metrics.Decision(c.GetDecision()), Shape: metrics.Shape(c.GetShape()), Gate: c.GetGate(),
		ScopeType: c.GetScopeType(), Scope: c.GetScope(), Observed: c.GetObserved(), Estimated: c.GetEstimated(),
	}
}

func encodeRow(r *metrics.RowCounter) *pluginv1.RowCounter {
	return &pluginv1.RowCounter{
		RowId: r.RowID, Matched: r.Matched, SoleMatch: r.SoleMatch, EstimatedMatched: r.EstimatedMatched,
		EstimatedSoleMatch: r.EstimatedSoleMatch, RecentPrincipals: r.RecentPrincipals,
	}
}

func decodeRow(r *pluginv1.RowCounter) metrics.RowCounter {
	return metrics.RowCounter{
		RowID: r.GetRowId(), Matched: r.GetMatched(), SoleMatch: r.GetSoleMatch(), EstimatedMatched: r.GetEstimatedMatched(),
		EstimatedSoleMatch: r.GetEstimatedSoleMatch(), RecentPrincipals: r.GetRecentPrincipals(),
	}
}
