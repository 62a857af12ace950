package plugin

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// One method an operation, in the order of storage.proto.

func grantRows(rows []*pluginv1.Grant) *pluginv1.GrantRows { return &pluginv1.GrantRows{Rows: rows} }
func revokeRows(rows []*pluginv1.Revoke) *pluginv1.RevokeRows {
	return &pluginv1.RevokeRows{Rows: rows}
}
func roleRows(rows []*pluginv1.Role) *pluginv1.RoleRows    { return &pluginv1.RoleRows{Rows: rows} }
func groupRows(rows []*pluginv1.Group) *pluginv1.GroupRows { return &pluginv1.GroupRows{Rows: rows} }
func userRows(rows []*pluginv1.User) *pluginv1.UserRows    { return &pluginv1.UserRows{Rows: rows} }
func requestRows(rows []*pluginv1.Request) *pluginv1.RequestRows {
	return &pluginv1.RequestRows{Rows: rows}
}
func catalogRows(rows []*pluginv1.Catalog) *pluginv1.CatalogRows {
	return &pluginv1.CatalogRows{Rows: rows}
}
func importsRows(rows []*pluginv1.Imports) *pluginv1.ImportsRows {
	return &pluginv1.ImportsRows{Rows: rows}
}
func auditRows(rows []*pluginv1.AuditEntry) *pluginv1.AuditRows {
	return &pluginv1.AuditRows{Rows: rows}
}
func recordRows(rows []*pluginv1.Record) *pluginv1.RecordRows {
	return &pluginv1.RecordRows{Rows: rows}
}
func commitRows(rows []*pluginv1.CommitResult) *pluginv1.CommitRows {
	return &pluginv1.CommitRows{Rows: rows}
}
func metricRows(rows []*pluginv1.MetricBucket) *pluginv1.MetricRows {
	return &pluginv1.MetricRows{Rows: rows}
}
func stringRows(rows []string) *pluginv1.StringList { return &pluginv1.StringList{Values: rows} }

// maybe packs the row of a read by key, or no row.
func maybe[T, R, A any](row T, found bool, err error, encode func(T) (R, error), pack func([]R) *A) (*A, error) {
	if err != nil {
		return nil, err
	}
	if !found {
		return pack(nil), nil
	}
	r, err := encode(row)
	return pack([]R{r}), returned(err)
}

func number(n int64, err error) (*pluginv1.Number, error) { return &pluginv1.Number{Number: n}, err }

// received classifies a request that cannot be decoded: the caller's mistake.
func received[T any](v T, err error) (T, error) {
	if err != nil && storage.CodeOf(err) == "" {
		err = storage.Errorf(storage.CodeValidation, "%v", err)
	}
	return v, err
}

func (s *storageServer) GetGrant(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.Key) (*pluginv1.GrantRows, error) {
		row, found, err := store.GetGrant(ctx, q.GetKey())
		return maybe(row, found, err, infallible(encodeGrant), grantRows)
	})
}

func (s *storageServer) ListGrants(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.GrantQuery) iter.Seq2[authz.Grant, error] {
		return store.ListGrants(ctx, decodeGrantFilter(q), decodePage(q.GetPage()))
	}, infallible(encodeGrant), grantRows)
}

func (s *storageServer) CountGrants(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.GrantQuery) (*pluginv1.Number, error) {
		return number(store.CountGrants(ctx, decodeGrantFilter(q)))
	})
}

func (s *storageServer) GetRevoke(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.Key) (*pluginv1.RevokeRows, error) {
		row, found, err := store.GetRevoke(ctx, q.GetKey())
		return maybe(row, found, err, infallible(encodeRevoke), revokeRows)
	})
}

func (s *storageServer) ListRevokes(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.RevokeQuery) iter.Seq2[authz.Revoke, error] {
		return store.ListRevokes(ctx, storage.RevokeFilter{UserID: q.UserId, Scope: q.Scope}, decodePage(q.GetPage()))
	}, infallible(encodeRevoke), revokeRows)
}

func (s *storageServer) GetRole(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.Key) (*pluginv1.RoleRows, error) {
		row, found, err := store.GetRole(ctx, q.GetKey())
		return maybe(row, found, err, encodeRole, roleRows)
	})
}

func (s *storageServer) GetRoles(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.StringList) (*pluginv1.RoleRows, error) {
		roles, err := store.GetRoles(ctx, q.GetValues())
		if err != nil {
			return nil, err
		}
		rows, err := tryRows(roles, encodeRole)
		return roleRows(rows), returned(err)
	})
}

func (s *storageServer) ListRoles(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.Page) iter.Seq2[authz.Role, error] {
		return store.ListRoles(ctx, decodePage(q))
	}, encodeRole, roleRows)
}

func (s *storageServer) GetGroup(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.Key) (*pluginv1.GroupRows, error) {
		row, found, err := store.GetGroup(ctx, q.GetKey())
		return maybe(row, found, err, infallible(encodeGroup), groupRows)
	})
}

func (s *storageServer) ListGroups(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.Page) iter.Seq2[authz.Group, error] {
		return store.ListGroups(ctx, decodePage(q))
	}, infallible(encodeGroup), groupRows)
}

func (s *storageServer) GetUser(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.Key) (*pluginv1.UserRows, error) {
		row, found, err := store.GetUser(ctx, q.GetKey())
		return maybe(row, found, err, infallible(encodeUser), userRows)
	})
}

func (s *storageServer) ListUsers(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.UserQuery) iter.Seq2[authz.User, error] {
		return store.ListUsers(ctx, storage.UserFilter{Active: q.Active, HasManager: q.HasManager}, decodePage(q.GetPage()))
	}, infallible(encodeUser), userRows)
}

func (s *storageServer) ListUsersInGroup(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.GroupQuery) iter.Seq2[string, error] {
		return store.ListUsersInGroup(ctx, q.GetGroupId(), decodePage(q.GetPage()))
	}, func(id string) (string, error) { return id, nil }, stringRows)
}

func (s *storageServer) GetRequest(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.Key) (*pluginv1.RequestRows, error) {
		row, found, err := store.GetRequest(ctx, q.GetKey())
		return maybe(row, found, err, encodeRequest, requestRows)
	})
}

func (s *storageServer) ListRequests(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.RequestQuery) iter.Seq2[authz.Request, error] {
		filter, page := decodeRequestQuery(q)
		return store.ListRequests(ctx, filter, page)
	}, encodeRequest, requestRows)
}

func (s *storageServer) GetCatalog(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, _ *pluginv1.Empty) (*pluginv1.CatalogRows, error) {
		head, found, err := store.GetCatalog(ctx)
		return maybe(storage.CatalogVersion{Version: head.Version, Document: head.Document}, found, err,
			infallible(encodeCatalogVersion), catalogRows)
	})
}

func (s *storageServer) GetCatalogVersion(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.Number) (*pluginv1.CatalogRows, error) {
		row, found, err := store.GetCatalogVersion(ctx, q.GetNumber())
		return maybe(row, found, err, infallible(encodeCatalogVersion), catalogRows)
	})
}

func (s *storageServer) ListCatalogVersions(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, _ *pluginv1.Empty) iter.Seq2[storage.CatalogVersion, error] {
		return store.ListCatalogVersions(ctx)
	}, infallible(encodeCatalogVersion), catalogRows)
}

func (s *storageServer) GetImports(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, _ *pluginv1.Empty) (*pluginv1.ImportsRows, error) {
		head, found, err := store.GetImports(ctx)
		return maybe(&pluginv1.Imports{Version: head.Version, ManifestJson: head.Manifest}, found, err,
			infallible(func(row *pluginv1.Imports) *pluginv1.Imports { return row }), importsRows)
	})
}

func (s *storageServer) ListAudit(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.AuditQuery) iter.Seq2[authz.AuditEntry, error] {
		return store.ListAudit(ctx, decodeAuditQuery(q))
	}, infallible(encodeAudit), auditRows)
}

func (s *storageServer) HeadSeq(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, _ *pluginv1.Empty) (*pluginv1.Position, error) {
		head, err := store.Head(ctx)
		return &pluginv1.Position{Seq: head.Seq, Identity: head.Identity}, err
	})
}

func (s *storageServer) EventsSince(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.EventQuery) (*pluginv1.EventPage, error) {
		page, err := store.EventsSince(ctx, authz.Position{Seq: q.GetSeq(), Identity: q.GetIdentity()}, int(q.GetLimit()))
		return encodeEventPage(page), err
	})
}

func (s *storageServer) PruneEvents(st frames) error {
	return answer(s, st, true, func(ctx context.Context, store storage.Store, q *pluginv1.PruneEventsRequest) (*pluginv1.Number, error) {
		return number(store.PruneEvents(ctx, storage.PruneEvents{Before: q.Before, KeepRows: q.KeepRows}))
	})
}

func (s *storageServer) RecordMetrics(st frames) error {
	return answer(s, st, true, func(ctx context.Context, store storage.Store, q *pluginv1.MetricRows) (*pluginv1.Empty, error) {
		return &pluginv1.Empty{}, store.RecordMetrics(ctx, mapRows(q.GetRows(), decodeBucket))
	})
}

func (s *storageServer) ReadMetrics(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.MetricQuery) iter.Seq2[storage.MetricBucket, error] {
		return store.ReadMetrics(ctx, decodeMetricQuery(q))
	}, infallible(encodeBucket), metricRows)
}

func (s *storageServer) PruneMetrics(st frames) error {
	return answer(s, st, true, func(ctx context.Context, store storage.Store, q *pluginv1.Number) (*pluginv1.Number, error) {
		return number(store.PruneMetrics(ctx, q.GetNumber()))
	})
}

func (s *storageServer) GetScopeParents(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.StringList) (*pluginv1.ScopeParents, error) {
		parents, err := store.GetScopeParents(ctx, q.GetValues())
		return encodeScopeParents(parents), err
	})
}

func (s *storageServer) GetRecord(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.RecordKey) (*pluginv1.RecordRows, error) {
		row, found, err := store.GetRecord(ctx, q.GetCollection(), q.GetId())
		return maybe(row, found, err, infallible(encodeRecord), recordRows)
	})
}

func (s *storageServer) ListRecords(st frames) error {
	return stream(s, st, func(ctx context.Context, store storage.Store, q *pluginv1.RecordQuery) iter.Seq2[storage.Record, error] {
		filter := storage.RecordFilter{Index: int(q.GetIndex()), Value: q.GetValue()}
		return store.ListRecords(ctx, q.GetCollection(), filter, decodePage(q.GetPage()))
	}, infallible(encodeRecord), recordRows)
}

func (s *storageServer) ReadAccess(st frames) error {
	return answerEncoded(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.AccessQuery) (storage.Access, error) {
		return store.ReadAccess(ctx, storage.AccessQuery{
			UserID: q.GetUserId(), Subjects: q.GetSubjects(), Expand: q.GetExpand()})
	}, encodeAccess)
}

func (s *storageServer) Commit(st frames) error {
	return answer(s, st, true, func(ctx context.Context, store storage.Store, q *pluginv1.Commit) (*pluginv1.CommitResult, error) {
		c, err := received(decodeCommit(q))
		if err != nil {
			return nil, err
		}
		result, err := store.Commit(ctx, c)
		if err != nil {
			return nil, err
		}
		out, err := encodeResult(result)
		if err != nil {
			return nil, unanswered(err)
		}
		return out, nil
	})
}

func (s *storageServer) Renew(st frames) error {
	return answer(s, st, true, func(ctx context.Context, store storage.Store, k *pluginv1.Key) (*pluginv1.Key, error) {
		renewer, ok := store.(storage.Renewer)
		if !ok {
			return nil, errNoRenewal()
		}
		incarnation, err := renewer.Renew(ctx, k.GetKey())
		return &pluginv1.Key{Key: incarnation}, err
	})
}

func errNoRenewal() error {
	return storage.Errorf(storage.CodeUnsupported, "this storage driver cannot give its content a new incarnation")
}

func (s *storageServer) Health(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, _ *pluginv1.Empty) (*pluginv1.StoreHealth, error) {
		reporter, ok := store.(storage.HealthReporter)
		if !ok {
			return nil, storage.Errorf(storage.CodeUnsupported, "this storage driver does not tell how its database is")
		}
		health, err := reporter.Health(ctx)
		told := &pluginv1.StoreHealth{}
		if health.ClockAhead != nil {
			told.ClockAheadMs = new(health.ClockAhead.Milliseconds())
		}
		return told, err
	})
}

func (s *storageServer) GetCommit(st frames) error {
	return answer(s, st, false, func(ctx context.Context, store storage.Store, q *pluginv1.Key) (*pluginv1.CommitRows, error) {
		row, found, err := store.GetCommit(ctx, q.GetKey())
		return maybe(row, found, err, encodeResult, commitRows)
	})
}
