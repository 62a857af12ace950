package plugin

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// One method an operation, in the order of storage.proto.

func (s *storeClient) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	var a pluginv1.GrantRows
	err := s.read(ctx, s.rpc.GetGrant, &pluginv1.Key{Key: id}, &a)
	return one(a.GetRows(), err, infallible(decodeGrant))
}

func (s *storeClient) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return list(ctx, s, s.rpc.ListGrants, encodeGrantQuery(f, p), (*pluginv1.GrantRows).GetRows, infallible(decodeGrant))
}

func (s *storeClient) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	var a pluginv1.Number
	err := s.read(ctx, s.rpc.CountGrants, encodeGrantQuery(f, storage.Page{}), &a)
	return a.GetNumber(), err
}

func (s *storeClient) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	var a pluginv1.RevokeRows
	err := s.read(ctx, s.rpc.GetRevoke, &pluginv1.Key{Key: id}, &a)
	return one(a.GetRows(), err, infallible(decodeRevoke))
}

func (s *storeClient) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	q := &pluginv1.RevokeQuery{UserId: f.UserID, Scope: f.Scope, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListRevokes, q, (*pluginv1.RevokeRows).GetRows, infallible(decodeRevoke))
}

func (s *storeClient) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	var a pluginv1.RoleRows
	err := s.read(ctx, s.rpc.GetRole, &pluginv1.Key{Key: id}, &a)
	return one(a.GetRows(), err, decodeRole)
}

func (s *storeClient) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return list(ctx, s, s.rpc.ListRoles, encodePage(p), (*pluginv1.RoleRows).GetRows, decodeRole)
}

func (s *storeClient) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	var a pluginv1.RoleRows
	if err := s.read(ctx, s.rpc.GetRoles, &pluginv1.StringList{Values: ids}, &a); err != nil {
		return nil, err
	}
	roles, err := tryRows(a.GetRows(), decodeRole)
	return roles, unreadable(err, "")
}

func (s *storeClient) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	var a pluginv1.GroupRows
	err := s.read(ctx, s.rpc.GetGroup, &pluginv1.Key{Key: id}, &a)
	return one(a.GetRows(), err, infallible(decodeGroup))
}

func (s *storeClient) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return list(ctx, s, s.rpc.ListGroups, encodePage(p), (*pluginv1.GroupRows).GetRows, infallible(decodeGroup))
}

func (s *storeClient) GetUser(ctx context.Context, userID string) (authz.User, bool, error) {
	var a pluginv1.UserRows
	err := s.read(ctx, s.rpc.GetUser, &pluginv1.Key{Key: userID}, &a)
	return one(a.GetRows(), err, infallible(decodeUser))
}

func (s *storeClient) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	q := &pluginv1.UserQuery{Active: f.Active, HasManager: f.HasManager, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListUsers, q, (*pluginv1.UserRows).GetRows, infallible(decodeUser))
}

func (s *storeClient) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	q := &pluginv1.GroupQuery{GroupId: groupID, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListUsersInGroup, q, (*pluginv1.StringList).GetValues,
		func(id string) (string, error) { return id, nil })
}

func (s *storeClient) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	var a pluginv1.RequestRows
	err := s.read(ctx, s.rpc.GetRequest, &pluginv1.Key{Key: id}, &a)
	return one(a.GetRows(), err, decodeRequest)
}

func (s *storeClient) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	return list(ctx, s, s.rpc.ListRequests, encodeRequestQuery(f, p), (*pluginv1.RequestRows).GetRows, decodeRequest)
}

func (s *storeClient) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	var a pluginv1.CatalogRows
	err := s.read(ctx, s.rpc.GetCatalog, &pluginv1.Empty{}, &a)
	return one(a.GetRows(), err, infallible(func(c *pluginv1.Catalog) storage.CatalogHead {
		return storage.CatalogHead{Version: c.GetVersion(), Document: c.DocumentJson}
	}))
}

func (s *storeClient) GetCatalogVersion(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
	var a pluginv1.CatalogRows
	err := s.read(ctx, s.rpc.GetCatalogVersion, &pluginv1.Number{Number: version}, &a)
	return one(a.GetRows(), err, infallible(decodeCatalogVersion))
}

func (s *storeClient) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return list(ctx, s, s.rpc.ListCatalogVersions, &pluginv1.Empty{}, (*pluginv1.CatalogRows).GetRows, infallible(decodeCatalogVersion))
}

func (s *storeClient) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	var a pluginv1.ImportsRows
	err := s.read(ctx, s.rpc.GetImports, &pluginv1.Empty{}, &a)
	return one(a.GetRows(), err, infallible(func(i *pluginv1.Imports) storage.ImportsHead {
		return storage.ImportsHead{Version: i.GetVersion(), Manifest: i.ManifestJson}
	}))
}

func (s *storeClient) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return list(ctx, s, s.rpc.ListAudit, encodeAuditQuery(f), (*pluginv1.AuditRows).GetRows, infallible(decodeAudit))
}

func (s *storeClient) Head(ctx context.Context) (authz.Position, error) {
	var a pluginv1.Position
	err := s.read(ctx, s.rpc.HeadSeq, &pluginv1.Empty{}, &a)
	return authz.Position{Seq: a.GetSeq(), Identity: a.GetIdentity()}, err
}

func (s *storeClient) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	var a pluginv1.EventPage
	err := s.read(ctx, s.rpc.EventsSince, &pluginv1.EventQuery{Seq: after.Seq, Identity: after.Identity, Limit: int64(limit)}, &a)
	return decodeEventPage(&a), err
}

func (s *storeClient) PruneEvents(ctx context.Context, p storage.PruneEvents) (int64, error) {
	var a pluginv1.Number
	err := s.write(ctx, s.rpc.PruneEvents, &pluginv1.PruneEventsRequest{Before: p.Before, KeepRows: p.KeepRows}, &a)
	return a.GetNumber(), err
}

func (s *storeClient) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	return s.write(ctx, s.rpc.RecordMetrics, metricRows(mapRows(deltas, encodeBucket)), &pluginv1.Empty{})
}

func (s *storeClient) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	return list(ctx, s, s.rpc.ReadMetrics, encodeMetricQuery(f), (*pluginv1.MetricRows).GetRows, infallible(decodeBucket))
}

func (s *storeClient) PruneMetrics(ctx context.Context, before int64) (int64, error) {
	var a pluginv1.Number
	err := s.write(ctx, s.rpc.PruneMetrics, &pluginv1.Number{Number: before}, &a)
	return a.GetNumber(), err
}

func (s *storeClient) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	var a pluginv1.ScopeParents
	if err := s.read(ctx, s.rpc.GetScopeParents, &pluginv1.StringList{Values: scopes}, &a); err != nil {
		return nil, err
	}
	return decodeScopeParents(&a), nil
}

func (s *storeClient) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	var a pluginv1.RecordRows
	err := s.read(ctx, s.rpc.GetRecord, &pluginv1.RecordKey{Collection: collection, Id: id}, &a)
	return one(a.GetRows(), err, infallible(decodeRecord))
}

func (s *storeClient) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	q := &pluginv1.RecordQuery{Collection: collection, Index: int64(f.Index), Value: f.Value, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListRecords, q, (*pluginv1.RecordRows).GetRows, infallible(decodeRecord))
}

func (s *storeClient) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	ask := &pluginv1.AccessQuery{UserId: q.UserID, Subjects: q.Subjects, Expand: q.Expand}
	_, answer, err := s.exchange(ctx, s.rpc.ReadAccess, ask)
	if err != nil {
		return storage.Access{}, fromWire(ctx, err, "")
	}
	access, err := decodeAccess(answer)
	return access, unreadable(err, "")
}

func (s *storeClient) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := checkCommitSize(c); err != nil {
		return storage.CommitResult{}, err
	}
	message, err := encodeCommit(c)
	if err != nil {
		return storage.CommitResult{}, err
	}
	var a pluginv1.CommitResult
	if err := s.write(ctx, s.rpc.Commit, message, &a); err != nil {
		return storage.CommitResult{}, err
	}
	result, err := decodeResult(&a)
	return result, unreadable(err, authz.OutcomeUnknown)
}

func (s *storeClient) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	var a pluginv1.CommitRows
	err := s.read(ctx, s.rpc.GetCommit, &pluginv1.Key{Key: id}, &a)
	return one(a.GetRows(), err, decodeResult)
}

func (s *storeClient) Renew(ctx context.Context, expect string) (string, error) {
	var a pluginv1.Key
	err := s.write(ctx, s.rpc.Renew, &pluginv1.Key{Key: expect}, &a)
	return a.GetKey(), err
}

func (s *storeClient) Health(ctx context.Context) (storage.Health, error) {
	var a pluginv1.StoreHealth
	if err := s.read(ctx, s.rpc.Health, &pluginv1.Empty{}, &a); err != nil || a.ClockAheadMs == nil {
		return storage.Health{}, err
	}
	return storage.Health{ClockAhead: new(time.Duration(a.GetClockAheadMs()) * time.Millisecond)}, nil
}

func (s *storeClient) Info() storage.StoreInfo {
	info := s.info
	info.Capabilities = slices.Clone(info.Capabilities)
	return info
}
