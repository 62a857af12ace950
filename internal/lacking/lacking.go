package lacking

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Driver is the driver as one that lacks capabilities.
func Driver(d storage.Driver, absent ...storage.Capability) storage.Driver { return &driver{d, absent} }

// Store is the store as one that lacks capabilities.
func Store(s storage.Store, absent ...storage.Capability) storage.Store {
	lacks, none := storage.Capabilities(absent), storage.Unimplemented{}
	if lacks.Has(storage.CapAncestry) && !lacks.Has(storage.CapLookups) {
		return Store(s, append(slices.Clone(absent), storage.CapLookups)...)
	}
	return &store{
		Required: s, absent: absent,
		EventLog: unless[storage.EventLog](lacks.Has(storage.CapEvents), none, s), Watcher: unless[storage.Watcher](lacks.Has(storage.CapWatch), none, s),
		History: unless[storage.History](lacks.Has(storage.CapHistory), none, s), Imports: unless[storage.Imports](lacks.Has(storage.CapImports), none, s),
		Metrics: unless[storage.Metrics](lacks.Has(storage.CapMetrics), none, s), BatchRoles: unless[storage.BatchRoles](lacks.Has(storage.CapBatchRoles), none, s),
		Ancestry: unless[storage.Ancestry](lacks.Has(storage.CapAncestry), none, s), Lookups: unless[storage.Lookups](lacks.Has(storage.CapLookups), none, s), Records: unless[storage.Records](lacks.Has(storage.CapRecords), none, s),
		Renewer: unless[storage.Renewer](lacks.Has(storage.CapRenewal), none, s), HealthReporter: unless[storage.HealthReporter](lacks.Has(storage.CapHealth), none, s),
	}
}

func unless[Group any](lacking bool, none, real Group) Group {
	if lacking {
		return none
	}
	return real
}

type driver struct {
	storage.Driver
	absent storage.Capabilities
}

func (d *driver) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	return Store(s, d.absent...), nil
}

// store has each group of optional operations from the store itself, or refuses it.
type store struct {
	storage.Required
	storage.EventLog
	storage.Watcher
	storage.History
	storage.Imports
	storage.Metrics
	storage.BatchRoles
	storage.Ancestry
	storage.Lookups
	storage.Records
	storage.Renewer
	storage.HealthReporter

	absent storage.Capabilities
}

func (s *store) refuse(c storage.Capability) error {
	if s.absent.Has(c) {
		return storage.Unsupported(c)
	}
	return nil
}

func (s *store) Info() storage.StoreInfo {
	info := s.Required.Info()
	info.Capabilities = slices.DeleteFunc(slices.Clone(info.Capabilities), s.absent.Has)
	return info
}

func (s *store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	needs := map[storage.Capability]bool{storage.CapEvents: len(c.Events) > 0}
	for _, r := range c.Requires {
		switch r.(type) {
		case storage.RequireRecord:
			needs[storage.CapRecords] = true
		case storage.RequireHead:
			needs[storage.CapEvents] = true
		}
	}
	for _, change := range c.Changes {
		switch change.(type) {
		case storage.PutImports:
			needs[storage.CapImports] = true
		case storage.PutScopeParents, storage.DeleteScopeParents:
			needs[storage.CapAncestry] = true
		case storage.PutRecord, storage.DeleteRecord:
			needs[storage.CapRecords] = true
		}
	}
	for capability, needed := range needs {
		if err := s.refuse(capability); needed && err != nil {
			return storage.CommitResult{}, err
		}
	}
	return s.Required.Commit(ctx, c)
}

func (s *store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	if err := s.refuse(storage.CapAuditSubjects); f.Subject != nil && err != nil {
		return func(yield func(authz.AuditEntry, error) bool) { yield(authz.AuditEntry{}, err) }
	}
	return s.Required.ListAudit(ctx, f)
}

func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if err := s.refuse(storage.CapExpand); q.Expand && err != nil {
		return storage.Access{}, err
	}
	if err := s.refuse(storage.CapAncestors); q.Scope != "" && err != nil {
		return storage.Access{}, err
	}
	a, err := s.Required.ReadAccess(ctx, q)
	if s.absent.Has(storage.CapEvents) {
		a.Head = authz.Position{}
	}
	return a, err
}
