package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// The audit log.

func (s *storeClient) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return list(ctx, s, s.rpc.ListAudit, encodeAuditQuery(s.handle, f), infallible(decodeAudit))
}

func (s *storageServer) ListAudit(q *pluginv1.AuditQuery, st grpc.ServerStreamingServer[pluginv1.AuditRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.AuditEntry, error] {
		return store.ListAudit(st.Context(), decodeAuditQuery(q))
	}, infallible(encodeAudit), auditRows)
}

func auditRows(rows []*pluginv1.AuditEntry) *pluginv1.AuditRows {
	return &pluginv1.AuditRows{Rows: rows}
}
