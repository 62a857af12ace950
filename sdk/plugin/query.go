package plugin

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Filters and answers that are not rows, in both directions. A nil member is
// absent on both sides; an empty list is not.

func encodeList(list []string) *pluginv1.StringList {
	if list == nil {
		return nil
	}
	return &pluginv1.StringList{Values: list}
}

func decodeList(list *pluginv1.StringList) []string {
	if list == nil {
		return nil
	}
	return presentList(list.GetValues())
}

// presentList makes the empty list that protobuf reads as nil.
func presentList(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}

func encodePage(p storage.Page) *pluginv1.Page {
	return &pluginv1.Page{After: p.After, Limit: int64(p.Limit)}
}

func decodePage(p *pluginv1.Page) storage.Page {
	return storage.Page{After: p.GetAfter(), Limit: int(p.GetLimit())}
}

func encodeGrantQuery(store uint64, f storage.GrantFilter, p storage.Page) *pluginv1.GrantQuery {
	return &pluginv1.GrantQuery{
		Store:   store,
		Subject: f.Subject, Subjects: encodeList(f.Subjects), Scope: f.Scope, RoleId: f.RoleID, Page: encodePage(p),
	}
}

func decodeGrantFilter(q *pluginv1.GrantQuery) storage.GrantFilter {
	return storage.GrantFilter{Subject: q.Subject, Subjects: decodeList(q.GetSubjects()), Scope: q.Scope, RoleID: q.RoleId}
}

func encodeRequestQuery(store uint64, f storage.RequestFilter, p storage.RequestPage) *pluginv1.RequestQuery {
	return &pluginv1.RequestQuery{
		Store: store,
		State: (*string)(f.State), RequesterUserId: f.RequesterUserID, RoleId: f.RoleID, Scope: f.Scope,
		AfterCreatedAt: p.AfterCreatedAt, AfterId: p.AfterID, Limit: int64(p.Limit),
	}
}

func decodeRequestQuery(q *pluginv1.RequestQuery) (storage.RequestFilter, storage.RequestPage) {
	return storage.RequestFilter{
			State: (*authz.RequestState)(q.State), RequesterUserID: q.RequesterUserId, RoleID: q.RoleId, Scope: q.Scope,
		}, storage.RequestPage{
			AfterCreatedAt: q.GetAfterCreatedAt(), AfterID: q.GetAfterId(), Limit: int(q.GetLimit()),
		}
}

func encodeGrantSearch(store uint64, q authz.GrantSearch, p storage.FoundPage) *pluginv1.GrantSearch {
	return &pluginv1.GrantSearch{
		Store:   store,
		Subject: q.Subject, Scope: q.Scope, RoleId: q.RoleID, Pattern: q.Pattern, Actor: q.Actor, Instances: q.Instances,
		Expires: q.Expires, ExpiresFrom: q.ExpiresFrom, ExpiresTo: q.ExpiresTo, CreatedFrom: q.CreatedFrom, CreatedTo: q.CreatedTo,
		Order: string(q.Order), AfterAt: p.After.At, AfterId: p.After.ID, Limit: int64(p.Limit),
	}
}

func decodeGrantSearch(q *pluginv1.GrantSearch) (authz.GrantSearch, storage.FoundPage) {
	return authz.GrantSearch{
			Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleId, Pattern: q.Pattern, Actor: q.Actor, Instances: q.GetInstances(),
			Expires: q.Expires, ExpiresFrom: q.ExpiresFrom, ExpiresTo: q.ExpiresTo, CreatedFrom: q.CreatedFrom, CreatedTo: q.CreatedTo,
			Order: authz.GrantOrder(q.GetOrder()),
		}, storage.FoundPage{
			After: authz.GrantPlace{At: q.GetAfterAt(), ID: q.GetAfterId()}, Limit: int(q.GetLimit()),
		}
}

func encodeAuditQuery(store uint64, f storage.AuditFilter) *pluginv1.AuditQuery {
	q := &pluginv1.AuditQuery{
		Store:  store,
		Target: f.Target, Actor: f.Actor, Action: f.Action, From: f.From, To: f.To, Limit: f.Limit, DetailLimit: f.DetailLimit, Subject: f.Subject,
	}
	if f.Cursor != nil {
		q.Cursor = &pluginv1.AuditCursor{At: f.Cursor.At, Id: f.Cursor.ID}
	}
	return q
}

func decodeAuditQuery(q *pluginv1.AuditQuery) storage.AuditFilter {
	f := storage.AuditFilter{
		Target: q.Target, Actor: q.Actor, Action: q.Action, From: q.From, To: q.To, Limit: q.Limit, DetailLimit: q.DetailLimit, Subject: q.Subject,
	}
	if c := q.GetCursor(); c != nil {
		f.Cursor = &authz.AuditCursor{At: c.GetAt(), ID: c.GetId()}
	}
	return f
}

func encodeEventPage(p storage.EventPage) *pluginv1.EventPage {
	return &pluginv1.EventPage{UpTo: p.UpTo.Seq, Identity: p.UpTo.Identity, Events: mapRows(p.Events, encodeEvent), Gap: p.Gap, Reset_: p.Reset}
}

func decodeEventPage(p *pluginv1.EventPage) storage.EventPage {
	return storage.EventPage{UpTo: authz.Position{Seq: p.GetUpTo(), Identity: p.GetIdentity()},
		Events: mapRows(p.GetEvents(), decodeEvent), Gap: p.GetGap(), Reset: p.GetReset_()}
}

func encodeMetricQuery(store uint64, f storage.MetricFilter) *pluginv1.MetricQuery {
	return &pluginv1.MetricQuery{
		Store:     store,
		Dimension: f.Dimension, Subjects: encodeList(f.Subjects), Since: f.Since, Until: f.Until,
	}
}

func decodeMetricQuery(q *pluginv1.MetricQuery) storage.MetricFilter {
	return storage.MetricFilter{
		Dimension: q.GetDimension(), Subjects: decodeList(q.GetSubjects()), Since: q.Since, Until: q.Until,
	}
}

func encodeScopeParents(parents map[string][]string) *pluginv1.ScopeParents {
	out := make(map[string]*pluginv1.StringList, len(parents))
	for scope, list := range parents {
		out[scope] = &pluginv1.StringList{Values: list}
	}
	return &pluginv1.ScopeParents{Parents: out}
}

func decodeScopeParents(p *pluginv1.ScopeParents) map[string][]string {
	out := make(map[string][]string, len(p.GetParents()))
	for scope, list := range p.GetParents() {
		out[scope] = presentList(list.GetValues())
	}
	return out
}
