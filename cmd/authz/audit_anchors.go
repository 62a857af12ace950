package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/anchor"
	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/sdk/authz"
)

// How anchors call logs; the id of an application or an org follows.
const (
	applicationLog = "application/"
	accountLog     = "account/"
)

// readAnchors reads the file of anchors by log, nil when none is named.
func (v *verification) readAnchors(c *cobra.Command) (map[string][]authz.AuditAnchor, error) {
	if v.anchors == "" {
		return nil, nil
	}
	f, err := os.Open(v.anchors)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	list, bad, err := anchor.Read(f)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s cannot be read: %w", v.anchors, err)}
	}
	for _, n := range bad {
		fmt.Fprintf(c.ErrOrStderr(), "warning: line %d of %s is no anchor; a crash may have torn it\n", n, v.anchors)
	}
	byLog := map[string][]authz.AuditAnchor{}
	for _, one := range list {
		byLog[one.Log] = append(byLog[one.Log], one)
	}
	return byLog, nil
}

// anchorsOf are those of a log; of an export that does not say whose it is, those of the
// only log there is. None are needed when no file is named.
func (v *verification) anchorsOf(all map[string][]authz.AuditAnchor, log string) ([]authz.AuditAnchor, error) {
	logs := slices.Sorted(maps.Keys(all))
	switch {
	case all == nil:
		return nil, nil
	case len(logs) == 0:
		return nil, usageError{fmt.Errorf("%s holds no anchor: give the file that audit.anchor.file of the host's configuration names", v.anchors)}
	case log == "" && len(logs) == 1:
		log = logs[0]
	case log == "":
		return nil, usageError{fmt.Errorf("%s holds anchors of %d logs: say with --app whose export it is", v.anchors, len(logs))}
	}
	if len(all[log]) == 0 {
		return nil, usageError{fmt.Errorf("%s holds no anchor of %s, only of: %s", v.anchors, plain(log), plain(strings.Join(logs, ", ")))}
	}
	return all[log], nil
}

// accounts verifies every account log over the socket: those that there are and those
// that were anchored. A log must also end where its host says that it does.
func (v *verification) accounts(ctx context.Context, a *admin, anchors map[string][]authz.AuditAnchor) ([]verdict, error) {
	local, err := a.local()
	if err != nil {
		return nil, err
	}
	var known struct{ Logs []api.AccountLog }
	if err := local.Host(ctx, "service.logs", nil, &known); err != nil {
		return nil, err
	}
	heads := map[string][]authz.AuditAnchor{}
	var logs []string
	for _, log := range known.Logs {
		logs = append(logs, accountLog+log.Org)
		if log.Count > 0 {
			heads[accountLog+log.Org] = []authz.AuditAnchor{{Count: log.Count, Hash: log.Hash}}
		}
	}
	there := len(logs)
	for log := range anchors {
		if strings.HasPrefix(log, accountLog) {
			logs = append(logs, log)
		}
	}
	if anchors != nil && len(logs) == there {
		return nil, usageError{fmt.Errorf("%s holds no anchor of an account log", v.anchors)}
	}
	slices.Sort(logs)
	var verdicts []verdict
	for _, log := range slices.Compact(logs) {
		out, err := v.verify(log, socketPages(ctx, local, strings.TrimPrefix(log, accountLog)), slices.Concat(anchors[log], heads[log]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", plain(log), err)
		}
		out.Anchors = min(out.Anchors, len(anchors[log]))
		verdicts = append(verdicts, out)
	}
	return verdicts, nil
}

func socketPages(ctx context.Context, local *adminsocket.Client, org string) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		from := authz.AuditCursor{}
		for {
			var page struct{ Events []authz.AuditEntry }
			if err := local.Host(ctx, "service.log", fields{"org": org, "after": from, "limit": pageSize}, &page); err != nil {
				yield(authz.AuditEntry{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
				from = e.Cursor()
			}
			if len(page.Events) < pageSize {
				return
			}
		}
	}
}

// hostedLog reads a log of an org over the hosted API.
func hostedLog(ctx context.Context, h *hostedclient.Client, path ...string) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		err := hostedclient.Rows(ctx, h, path, "events", fields{"mode": "export"}, 0, func(e authz.AuditEntry) error {
			if !yield(e, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && err != errStop {
			yield(authz.AuditEntry{}, err)
		}
	}
}
