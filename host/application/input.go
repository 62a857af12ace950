package application

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Limits of stored text in bytes (spec: application §1.4).
const (
	maxID   = 1024
	maxName = 1024
	maxText = 65536

	// maxCursor bounds the key of a row, which an import may have composed.
	maxCursor = 4096
)

// shape judges the arguments of one operation; err is the first refusal.
type shape struct{ err error }

// id wants 1 to maxID bytes.
func (s *shape) id(field, value string) {
	if s.err == nil && value == "" {
		s.err = authz.Validation("%s must be a non-empty string", field)
	}
	s.text(field, value, maxID)
}

func (s *shape) text(field, value string, limit int) {
	if s.err == nil {
		s.err = checkText(field, value, limit)
	}
}

func (s *shape) ids(field string, values []string) {
	for _, v := range values {
		s.id(field, v)
	}
}

func (s *shape) texts(field string, values []string) {
	for _, v := range values {
		s.text(field, v, maxID)
	}
}

// filter judges a member of a list filter, which may be absent or empty.
func (s *shape) filter(field string, value *string) {
	if value != nil {
		s.text(field, *value, maxID)
	}
}

func (s *shape) instant(field string, value *int64) {
	if s.err == nil && value != nil && !authz.ValidInstant(*value) {
		s.err = authz.Validation("%s must be an integer within ±(2^53−1)", field)
	}
}

func checkText(field, value string, limit int) error {
	switch {
	case len(value) > limit:
		return authz.Validation("%s is longer than %d bytes", field, limit)
	case !utf8.ValidString(value):
		return authz.Validation("%s must be valid UTF-8", field)
	case strings.IndexByte(value, 0) >= 0:
		return authz.Validation("%s must not contain U+0000", field)
	}
	return nil
}

// checkJSON holds stored documents to the rules of stored strings.
func checkJSON(field string, raw json.RawMessage) error {
	if !utf8.Valid(raw) {
		return authz.Validation("%s must be valid UTF-8", field)
	}
	for rest := []byte(raw); ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || i+1 >= len(rest) {
			return nil
		}
		if bytes.HasPrefix(rest[i+1:], []byte("u0000")) {
			return authz.Validation("%s must not contain U+0000", field)
		}
		rest = rest[i+2:] // the escaped character, which may be a backslash itself
	}
}

// provenance validates and normalises p. Text that normalisation drops is not
// measured.
func provenance(p authz.Provenance) (authz.Provenance, error) {
	p, err := p.Normalize()
	if err != nil {
		return p, err
	}
	var s shape
	s.text("provenance.actorUserId", p.ActorUserID, maxID)
	s.text("provenance.requestId", p.RequestID, maxID)
	s.text("provenance.approvedBy", p.ApprovedBy, maxID)
	s.text("provenance.virtualParentId", p.VirtualParentID, maxID)
	s.text("provenance.originalGrantId", p.OriginalGrantID, maxID)
	s.text("provenance.source", p.Source, maxID)
	s.text("provenance.integrationId", p.IntegrationID, maxID)
	s.text("provenance.note", p.Note, maxID)
	return p, s.err
}

func checkScope(scope string) error {
	if err := authz.ValidateScope(scope); err != nil {
		return authz.Validation("%s", err.Reason)
	}
	return nil
}

// checkPattern wants a well-formed pattern that the catalog knows.
func (a *Application) checkPattern(pattern string) error {
	if err := authz.ValidatePattern(pattern); err != nil {
		return authz.Validation("%s", err.Reason)
	}
	if issue := a.catalog.ValidateKnownPattern(pattern); issue != nil {
		return authz.Validation("%s", issue.Message)
	}
	return nil
}

// checkPatternAt is checkPattern of what a row at the scope names. What is global is
// the organization's, and may name what another member has published.
func (a *Application) checkPatternAt(ctx context.Context, pattern, scope string) error {
	refusal := a.checkPattern(pattern)
	if refusal == nil || a.elsewhere == nil || scope != authz.Global || authz.ValidatePattern(pattern) != nil {
		return refusal
	}
	if known, err := a.elsewhere(ctx, pattern); err != nil || known {
		return err
	}
	return refusal
}

// distinct keeps the first of equal entries and never returns nil.
func distinct(list []string) []string {
	kept := make([]string, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, v := range list {
		if !seen[v] {
			seen[v] = true
			kept = append(kept, v)
		}
	}
	return kept
}

func orGlobal(scope string) string {
	if scope == "" {
		return authz.Global
	}
	return scope
}

// page judges the paging of a list.
func (s *shape) page(p provider.Paging) {
	s.text("after", p.After, maxCursor)
	if s.err == nil && p.Limit < 0 {
		s.err = authz.Validation("limit must not be negative")
	}
}
