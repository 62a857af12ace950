package relay

import (
	"errors"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/provider"
)

// CheckPing holds what an application says of itself against its entry: another
// version of the provider API is provider_version_mismatch, another id
// application_mismatch.
func CheckPing(p provider.Ping, application string) error {
	if p.API != provider.APIVersion {
		return fault.Cloud("provider_version_mismatch", "the application speaks version %d of the provider API, not %d", p.API, provider.APIVersion)
	}
	if p.Application != application {
		return errOther()
	}
	return nil
}

func errOther() error {
	return fault.Cloud("application_mismatch", "another application answers at the relay URL, and nothing is sent to it; link this entry to its own application")
}

// Health is the status and the detail that an error of a probe stands for; nil is
// "healthy" without detail. The details are a fixed set of words.
func Health(err error) (status, detail string) {
	if err == nil {
		return "healthy", ""
	}
	var e *fault.Error
	if !errors.As(err, &e) {
		return "protocol", "error"
	}
	switch e.Code {
	case "application_unreachable":
		return "unreachable", "no connection"
	case "application_timeout":
		return "unreachable", "no answer"
	case "application_unavailable", fault.CodeStorage:
		return "unreachable", "unavailable"
	case "application_credential_rejected":
		return "unauthorized", "credential rejected"
	case "application_mismatch":
		return "mismatch", "application"
	case "provider_version_mismatch":
		return "mismatch", "version"
	case "application_protocol_error":
		return "protocol", "malformed answer"
	}
	return "protocol", "error"
}
