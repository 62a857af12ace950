package plugin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Rows in both directions. Encoders of rows with typed JSON members fail with
// CodeValidation; their decoders with an error that the receiving side classifies.

func mapRows[A, B any](in []A, f func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func tryRows[A, B any](in []A, f func(A) (B, error)) ([]B, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]B, len(in))
	for i, v := range in {
		var err error
		if out[i], err = f(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// infallible gives an encoder or decoder that cannot fail the shape of those
// that can.
func infallible[A, B any](f func(A) B) func(A) (B, error) {
	return func(a A) (B, error) { return f(a), nil }
}

func encodeExpiry(e authz.Expiry) *int64 {
	if at, ok := e.At(); ok {
		return &at
	}
	return nil
}

func decodeExpiry(at *int64) authz.Expiry {
	if at == nil {
		return authz.Expiry{}
	}
	return authz.ExpiresAt(*at)
}

// encodeJSON renders a typed member; null and absent members are nil.
func encodeJSON(v any) ([]byte, error) {
	rv := reflect.ValueOf(v)
	if rv.IsNil() {
		return nil, nil
	}
	// encoding/json would replace broken text silently.
	if !validText(rv) {
		return nil, storage.Errorf(storage.CodeValidation, "text must be valid UTF-8")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, storage.Errorf(storage.CodeValidation, "a JSON member cannot be encoded")
	}
	return b, nil
}

func decodeJSON(b []byte, into any) error {
	if b == nil {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("a JSON member cannot be read: %w", err)
	}
	return nil
}

func validText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer:
		return v.IsNil() || validText(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !validText(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if !validText(v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !validText(it.Key()) || !validText(it.Value()) {
				return false
			}
		}
	}
	return true
}

func encodeProvenance(p authz.Provenance) *pluginv1.Provenance {
	return &pluginv1.Provenance{
		Kind: string(p.Kind), ActorUserId: p.ActorUserID, RequestId: p.RequestID, ApprovedBy: p.ApprovedBy,
		VirtualParentId: p.VirtualParentID, OriginalGrantId: p.OriginalGrantID, Source: p.Source,
		IntegrationId: p.IntegrationID, Note: p.Note, Via: p.Via,
	}
}

func decodeProvenance(p *pluginv1.Provenance) authz.Provenance {
	return authz.Provenance{
		Kind: authz.ProvenanceKind(p.GetKind()), ActorUserID: p.GetActorUserId(), RequestID: p.GetRequestId(),
		ApprovedBy: p.GetApprovedBy(), VirtualParentID: p.GetVirtualParentId(), OriginalGrantID: p.GetOriginalGrantId(),
		Source: p.GetSource(), IntegrationID: p.GetIntegrationId(), Note: p.GetNote(), Via: p.GetVia(),
	}
}

func encodeGrant(g authz.Grant) *pluginv1.Grant {
	return &pluginv1.Grant{
		Id: g.ID, Subject: g.Subject, RoleId: g.RoleID, Pattern: g.Pattern, Scope: g.Scope,
		ExpiresAt: encodeExpiry(g.ExpiresAt), Provenance: encodeProvenance(g.Provenance), CreatedAt: g.CreatedAt,
	}
}

func decodeGrant(g *pluginv1.Grant) authz.Grant {
	return authz.Grant{
		ID: g.GetId(), Subject: g.GetSubject(), RoleID: g.GetRoleId(), Pattern: g.GetPattern(), Scope: g.GetScope(),
		ExpiresAt: decodeExpiry(g.ExpiresAt), Provenance: decodeProvenance(g.GetProvenance()), CreatedAt: g.GetCreatedAt(),
	}
}

func encodeRevoke(r authz.Revoke) *pluginv1.Revoke {
	return &pluginv1.Revoke{
		Id: r.ID, UserId: r.UserID, Pattern: r.Pattern, Scope: r.Scope,
		Provenance: encodeProvenance(r.Provenance), CreatedAt: r.CreatedAt,
	}
}

func decodeRevoke(r *pluginv1.Revoke) authz.Revoke {
	return authz.Revoke{
		ID: r.GetId(), UserID: r.GetUserId(), Pattern: r.GetPattern(), Scope: r.GetScope(),
		Provenance: decodeProvenance(r.GetProvenance()), CreatedAt: r.GetCreatedAt(),
	}
}

func encodeRole(r authz.Role) (*pluginv1.Role, error) {
	requestable, err := encodeJSON(r.Requestable)
	return &pluginv1.Role{
		Id: r.ID, Name: r.Name, Description: r.Description, Patterns: r.Patterns, RequestableJson: requestable,
	}, err
}

func decodeRole(r *pluginv1.Role) (authz.Role, error) {
	role := authz.Role{ID: r.GetId(), Name: r.GetName(), Description: r.GetDescription(), Patterns: r.GetPatterns()}
	return role, decodeJSON(r.RequestableJson, &role.Requestable)
}

func encodeGroup(g authz.Group) *pluginv1.Group {
	return &pluginv1.Group{Id: g.ID, Name: g.Name, Description: g.Description, Parents: g.Parents, Virtual: g.Virtual}
}

func decodeGroup(g *pluginv1.Group) authz.Group {
	return authz.Group{
		ID: g.GetId(), Name: g.GetName(), Description: g.GetDescription(), Parents: g.GetParents(), Virtual: g.GetVirtual(),
	}
}

func encodeUser(u authz.User) *pluginv1.User {
	return &pluginv1.User{
		UserId: u.UserID, Active: u.Active, GroupIds: u.GroupIDs, OrgIds: u.OrgIDs, ManagerUserId: u.ManagerUserID,
	}
}

func decodeUser(u *pluginv1.User) authz.User {
	return authz.User{
		UserID: u.GetUserId(), Active: u.GetActive(), GroupIDs: u.GetGroupIds(), OrgIDs: u.GetOrgIds(),
		ManagerUserID: u.GetManagerUserId(),
	}
}

func encodeRequest(r authz.Request) (*pluginv1.Request, error) {
	out := &pluginv1.Request{
		Id: r.ID, RequesterUserId: r.RequesterUserID, RoleId: r.RoleID, Pattern: r.Pattern, Scope: r.Scope,
		ProposedExpiresAt: encodeExpiry(r.ProposedExpiresAt), State: string(r.State), StageIndex: r.StageIndex,
		CreatedAt: r.CreatedAt, DecidedAt: r.DecidedAt,
	}
	var err error
	if out.JustificationJson, err = encodeJSON(r.Justification); err != nil {
		return nil, err
	}
	if out.StagesJson, err = encodeJSON(r.Stages); err != nil {
		return nil, err
	}
	out.DecisionsJson, err = encodeJSON(r.Decisions)
	return out, err
}

func decodeRequest(r *pluginv1.Request) (authz.Request, error) {
	out := authz.Request{
		ID: r.GetId(), RequesterUserID: r.GetRequesterUserId(), RoleID: r.GetRoleId(), Pattern: r.GetPattern(),
		Scope: r.GetScope(), ProposedExpiresAt: decodeExpiry(r.ProposedExpiresAt),
		State: authz.RequestState(r.GetState()), StageIndex: r.GetStageIndex(),
		CreatedAt: r.GetCreatedAt(), DecidedAt: r.DecidedAt,
	}
	if err := decodeJSON(r.JustificationJson, &out.Justification); err != nil {
		return out, err
	}
	if err := decodeJSON(r.StagesJson, &out.Stages); err != nil {
		return out, err
	}
	return out, decodeJSON(r.DecisionsJson, &out.Decisions)
}

func encodeAudit(e authz.AuditEntry) *pluginv1.AuditEntry {
	return &pluginv1.AuditEntry{
		Id: e.ID, At: e.At, Actor: e.Actor, Action: e.Action, Target: e.Target,
		DetailJson: e.Detail, PrevHash: e.PrevHash, Hash: e.Hash, DetailBytes: e.DetailBytes,
	}
}

func decodeAudit(e *pluginv1.AuditEntry) authz.AuditEntry {
	return authz.AuditEntry{
		ID: e.GetId(), At: e.GetAt(), Actor: e.GetActor(), Action: e.GetAction(), Target: e.GetTarget(),
		Detail: e.DetailJson, PrevHash: e.GetPrevHash(), Hash: e.GetHash(), DetailBytes: e.GetDetailBytes(),
	}
}

func encodeEvent(e authz.Event) *pluginv1.Event {
	return &pluginv1.Event{Type: string(e.Type), UserId: e.UserID, Subject: e.Subject, RoleId: e.RoleID, Scope: e.Scope}
}

func decodeEvent(e *pluginv1.Event) authz.Event {
	return authz.Event{
		Type: authz.EventType(e.GetType()), UserID: e.GetUserId(), Subject: e.GetSubject(), RoleID: e.GetRoleId(), Scope: e.GetScope(),
	}
}

func encodeBucket(b storage.MetricBucket) *pluginv1.MetricBucket {
	return &pluginv1.MetricBucket{Bucket: b.Bucket, Dimension: b.Dimension, Subject: b.Subject, Metric: b.Metric, Count: b.Count}
}

func decodeBucket(b *pluginv1.MetricBucket) storage.MetricBucket {
	return storage.MetricBucket{
		Bucket: b.GetBucket(), Dimension: b.GetDimension(), Subject: b.GetSubject(), Metric: b.GetMetric(), Count: b.GetCount(),
	}
}

func encodeRecord(r storage.Record) *pluginv1.Record {
	return &pluginv1.Record{
		Collection: r.Collection, Id: r.ID, Version: r.Version, DataJson: r.Data, Keys: r.Keys[:], UpdatedAt: r.UpdatedAt,
	}
}

func decodeRecord(r *pluginv1.Record) storage.Record {
	out := storage.Record{
		Collection: r.GetCollection(), ID: r.GetId(), Version: r.GetVersion(), Data: r.DataJson, UpdatedAt: r.GetUpdatedAt(),
	}
	copy(out.Keys[:], r.GetKeys())
	return out
}

func encodeCatalogVersion(v storage.CatalogVersion) *pluginv1.Catalog {
	return &pluginv1.Catalog{Version: v.Version, DocumentJson: v.Document, PublishedAt: v.PublishedAt}
}

func decodeCatalogVersion(v *pluginv1.Catalog) storage.CatalogVersion {
	return storage.CatalogVersion{Version: v.GetVersion(), Document: v.DocumentJson, PublishedAt: v.GetPublishedAt()}
}
