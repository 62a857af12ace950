package hosted

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
)

// class is where a code stands in the tables of errors (spec: hosted-api §6).
type class struct {
	status int
	name   string
}

// classes are the one place that gives codes their status. An error without a code
// stands under its name.
var classes = map[string]class{
	"invalid_request": {400, "CloudError"}, "invalid_parameter": {400, "CloudError"}, "invalid_cursor": {400, "CloudError"},
	"invalid_idempotency_key": {400, "CloudError"}, "relay_url_rejected": {400, "CloudError"}, "mixed_homes": {400, "CloudError"},
	"not_evaluable_here": {400, "CloudError"},

	"csrf_failed": {403, "CloudError"}, "credential_not_allowed": {403, "CloudError"}, "seat_required": {403, "CloudError"},
	"owner_required": {403, "CloudError"}, "escalation_refused": {403, "CloudError"}, "principal_mismatch": {403, "CloudError"},
	"org_creation_disabled": {403, "CloudError"}, "view_as_read_only": {403, "CloudError"}, "proof_required": {403, "CloudError"},
	"operator_required": {403, "CloudError"},

	"org_not_found": {404, "CloudError"}, "application_not_found": {404, "CloudError"}, "seat_not_found": {404, "CloudError"},
	"api_key_not_found": {404, "CloudError"}, "session_not_found": {404, "CloudError"}, "namespace_not_found": {404, "CloudError"},
	"version_not_found": {404, "CloudError"}, "dimension_not_found": {404, "CloudError"},

	"application_id_taken": {409, "CloudError"}, "application_mismatch": {409, "CloudError"}, "audit_stream_off": {409, "CloudError"},
	"cap_reached": {409, "CloudError"}, "idempotency_conflict": {409, "CloudError"}, "idempotency_in_progress": {409, "CloudError"},
	"invalid_transition": {409, "CloudError"}, "last_owner": {409, "CloudError"}, "limit_reached": {409, "CloudError"},
	"namespace_taken": {409, "CloudError"}, "no_org_root": {409, "CloudError"}, "not_linked": {409, "CloudError"},
	"org_id_taken": {409, "CloudError"}, "org_root_moving": {409, "CloudError"}, "precondition_failed": {409, "CloudError"},
	"provider_version_mismatch": {409, "CloudError"}, "retention_off": {409, "CloudError"}, "seat_exists": {409, "CloudError"},

	"operation_in_progress": {409, "CloudError"}, "probe_failed": {409, "CloudError"}, "snapshot_unsupported": {409, "CloudError"},
	"authority_refused": {409, "CloudError"}, "authority_unknown": {409, "CloudError"}, "org_changed": {409, "CloudError"},
	"no_org_administrator": {409, "CloudError"}, "catalog_not_published": {409, "CloudError"}, "not_last_member": {409, "CloudError"},

	"unresolved_conflicts": {409, "PromotionConflictError"}, "invalid_resolution": {409, "PromotionConflictError"},
	"stale_resolutions": {409, "PromotionConflictError"},

	"credential_missing": {401, "UnauthenticatedError"}, "credential_invalid": {401, "UnauthenticatedError"},
	"session_expired": {401, "UnauthenticatedError"}, "sign_in_failed": {401, "UnauthenticatedError"},

	"forbidden": {403, "AccessDeniedError"}, "inactive": {403, "AccessDeniedError"},

	"malformed_document": {400, "RegistryError"}, "unsupported_format": {400, "RegistryError"},
	"namespace_not_owned": {403, "RegistryError"}, "namespace_reserved": {403, "RegistryError"},
	"version_conflict": {409, "RegistryError"}, "out_of_order": {409, "RegistryError"}, "namespace_unregistered": {409, "RegistryError"},

	"validation": {400, "ProviderWriteRejectedError"}, "not_found": {404, "ProviderWriteRejectedError"},
	"conflict": {409, "ProviderWriteRejectedError"}, "graph_cycle": {409, "ProviderWriteRejectedError"}, "GraphCycleError": {409, "GraphCycleError"},
	"not_org_root": {409, "ProviderWriteRejectedError"}, "unsupported": {501, "ProviderWriteRejectedError"},

	"application_unreachable": {502, "ProviderTransportError"}, "application_credential_rejected": {502, "ProviderTransportError"},
	"application_protocol_error": {502, "ProviderTransportError"}, "application_error": {502, "ProviderTransportError"},
	"application_unavailable": {503, "ProviderTransportError"}, "application_timeout": {504, "ProviderTransportError"},

	"rate_limited": {429, "RateLimitedError"},

	"route_not_found": {404, "ProtocolError"}, "method_not_allowed": {405, "ProtocolError"}, "not_acceptable": {406, "ProtocolError"},
	"payload_too_large": {413, "ProtocolError"}, "unsupported_media_type": {415, "ProtocolError"}, "headers_too_large": {431, "ProtocolError"},

	"internal": {500, "InternalError"}, "storage_unavailable": {503, "InternalError"}, "openid_provider_unreachable": {503, "InternalError"},

	"UnknownPermissionError": {500, "UnknownPermissionError"}, "MissingConditionError": {500, "MissingConditionError"},
	"UnknownScopeTypeError": {500, "UnknownScopeTypeError"},
}

// told are codes that go out as another one.
var told = map[string]string{fault.CodeProviderDown: "internal"}

// classOf is the row of an error; one without is an internal error.
func classOf(e *fault.Error) class {
	c, ok := classes[cmp.Or(e.Code, e.Name)]
	if !ok {
		return classes["internal"]
	}
	return c
}

func statusOf(e *fault.Error) int { return classOf(e).status }

// protocol is an error of HTTP itself.
func protocol(code, format string, args ...any) *fault.Error {
	return &fault.Error{Name: "ProtocolError", Code: code, Message: fmt.Sprintf(format, args...)}
}

var relayCodes = []string{
	"application_unreachable", "application_timeout", "application_unavailable", "application_credential_rejected",
	"application_protocol_error", "application_error", "application_mismatch", "provider_version_mismatch",
}

// errors are every code that the endpoint may answer: its own and those that its
// gate, path, method and input bring along.
func (e *endpoint) errors() []string {
	codes := append([]string{"invalid_request", "invalid_parameter", "not_acceptable", "payload_too_large", "headers_too_large",
		"rate_limited", "internal", "storage_unavailable"}, e.Own...)
	also := func(when bool, more ...string) {
		if when {
			codes = append(codes, more...)
		}
	}
	gate := e.Gate.Kind
	public := gate == service.GatePublic
	also(!public, "credential_missing", "credential_invalid", "credential_not_allowed")
	also(e.Gate.Admits(service.CallerSession) && !public, "session_expired")
	also(e.write() && (e.Gate.Admits(service.CallerSession) && !public || e.OriginRule), "csrf_failed")
	also(e.takesBody(), "unsupported_media_type")
	also(e.paged, "invalid_cursor")
	also(e.keeps(), "invalid_idempotency_key", "idempotency_conflict", "idempotency_in_progress")
	also(e.inOrg(), "org_not_found")
	also(e.inOrg() && e.Gate.Admits(service.CallerSession), "seat_required", "inactive")
	also(!public && e.write() && !e.WhilePreviewing && e.Gate.Admits(service.CallerSession), "view_as_read_only")
	also(gate == service.GateOwner, "owner_required")
	also(gate == service.GateOperator, "operator_required")
	also(gate == service.GateCloud, "forbidden")
	also(gate == service.GateOrg, append([]string{"forbidden", "no_org_root", "org_root_moving", "UnknownPermissionError"}, relayCodes...)...)
	also(slices.Contains(e.parameters, "app"), "application_not_found")
	also(e.Relayed, relayCodes...)
	also(e.Relayed && slices.Contains(e.parameters, "app"), "not_linked")
	also(e.Relayed && e.write(), "validation", "not_found", "conflict", "unsupported", "not_org_root")
	also(e.Proof != proofNever, "proof_required")
	also(e.Conditional, "precondition_failed")
	slices.Sort(codes)
	return slices.Compact(codes)
}
