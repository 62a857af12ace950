package host

import (
	"context"
	"time"

	"github.com/authzhost/authz/host/anchor"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// openAnchors begins to anchor the logs that are chained: of applications by
// audit.hash_chain, of accounts always.
func (h *Host) openAnchors(cfg *config.Config) (err error) {
	a := cfg.Audit.Anchor
	if a == nil {
		return nil
	}
	for _, name := range sorted(cfg.Applications) {
		if !cfg.Applications[name].Audit.HashChain {
			h.log.Warn("the application's audit log is not anchored: it has no audit.hash_chain", "application", name)
		}
	}
	h.anchors, err = anchor.Start(anchor.Options{File: a.File, Interval: a.Interval, Logs: h.chainedLogs, Clock: h.clock(), Logger: h.log.Named("anchor")})
	return err
}

// anchorPatience bounds the last anchors of a host that stops.
const anchorPatience = 10 * time.Second

func (h *Host) closeAnchors(ctx context.Context) error {
	if h.anchors == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, anchorPatience)
	defer cancel()
	return h.anchors.Close(ctx)
}

func (h *Host) chainedLogs(ctx context.Context) (logs []anchor.Log, err error) {
	cfg := h.config.Load()
	for _, name := range sorted(h.apps) {
		if cfg.Applications[name].Audit.HashChain {
			app := h.apps[name]
			logs = append(logs, anchor.Log{Name: "application/" + name, Head: func(ctx context.Context, last authz.AuditAnchor) (authz.AuditAnchor, error) {
				return app.chainHead(ctx, last)
			}})
		}
	}
	if h.service == nil {
		return logs, nil
	}
	add := func(_ context.Context, org string) error {
		logs = append(logs, anchor.Log{Name: "account/" + org, Head: func(ctx context.Context, last authz.AuditAnchor) (authz.AuditAnchor, error) {
			return accountHead(ctx, h.service.accounts, org, last)
		}})
		return nil
	}
	_ = add(ctx, "") // what belongs to no org
	return logs, h.service.forOrgs(ctx, add)
}

func accountHead(ctx context.Context, s *account.Store, org string, last authz.AuditAnchor) (authz.AuditAnchor, error) {
	head, _, err := s.LogHead(ctx, org)
	if err == nil && (head.Count < last.Count || head.Count == last.Count && head.Hash != last.Hash) {
		err = &anchor.Altered{What: "it has lost the entry that was anchored"}
	}
	return authz.AuditAnchor{Count: head.Count, Hash: head.Hash, Entry: authz.AuditCursor{At: head.At, ID: head.ID}}, err
}

// chainHead reads what follows the last anchor, the whole log when it has none or has
// lost its entry.
func (a *served) chainHead(ctx context.Context, last authz.AuditAnchor) (authz.AuditAnchor, error) {
	var altered error
	if last.Count > 0 {
		there, err := a.holds(ctx, last)
		if err != nil {
			return authz.AuditAnchor{}, err
		}
		if !there {
			last, altered = authz.AuditAnchor{}, &anchor.Altered{What: "it has lost the entry that was anchored"}
		}
	}
	head := authz.AuditAnchor{Count: last.Count, Hash: last.Hash, Entry: last.Entry}
	log := a.current.Load().ListAuditEvents(ctx, provider.AuditQuery{Cursor: &last.Entry})
	var failed error
	report, _ := authz.VerifyHashChain(func(yield func(authz.AuditEntry, error) bool) {
		holds := true
		for e, err := range log {
			if failed = err; err != nil {
				return
			}
			if e.Hash != "" {
				head.Count, head.Hash, head.Entry = head.Count+1, e.Hash, e.Cursor()
			}
			holds = holds && yield(e, nil) // counted to the end, wherever the chain breaks
		}
	}, last.Hash)
	switch {
	case failed != nil:
		return authz.AuditAnchor{}, failed
	case altered != nil:
		return head, altered
	case !report.OK:
		return head, &anchor.Altered{What: "its chain is broken: " + string(report.Reason)}
	}
	return head, nil
}

// holds tells whether the anchored entry is still there.
func (a *served) holds(ctx context.Context, last authz.AuditAnchor) (bool, error) {
	to := last.Entry.At + 1
	for e, err := range a.current.Load().ListAuditEvents(ctx, provider.AuditQuery{From: &last.Entry.At, To: &to}) {
		if err != nil {
			return false, err
		}
		if e.ID == last.Entry.ID {
			return e.Hash == last.Hash, nil
		}
	}
	return false, nil
}
