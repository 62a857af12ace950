package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// document is a catalog document that is fit to be published. namespaces are those
// that get a version, ascending; keys are those of theirs.
type document struct {
	raw        json.RawMessage
	sum        string // SHA-256 of the canonical JSON: what makes documents equal
	primary    string
	namespaces []string
	keys       map[string][]string // by namespace, ascending
}

// required are the members that a document must have beside its version, all but
// the first as arrays.
var required = []string{"namespace", "namespaces", "leaves", "groups", "scopeTypes", "navigation"}

func malformed(issues ...fault.Issue) *fault.Error {
	message := "the document is no catalog document"
	if len(issues) > 0 {
		message += ": " + spell.Echo(issues[0].Message)
	}
	return fault.Registry("malformed_document", "%s", message).
		With("issues", issues[:min(len(issues), fault.MaxIssues)])
}

// read judges the structure of a document (spec: hosted-api §6, catalog §8) and
// which namespaces it is about. Its errors are RegistryError.
func read(raw json.RawMessage) (document, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return document{}, malformed(fault.Issue{Path: "document", Message: "must be an object"})
	}
	built, err := catalog.FromDocument(raw, catalog.DocumentOptions{})
	if refused := new(authz.CatalogError); errors.As(err, &refused) {
		return document{}, refusal(refused.Issues)
	} else if err != nil {
		return document{}, fault.Internal(err)
	}
	for i, name := range required {
		member := members[name]
		if len(member) == 0 || i > 0 && member[0] != '[' {
			return document{}, malformed(fault.Issue{Path: "document." + name, Message: name + " must be given"})
		}
	}
	d := document{raw: raw, primary: built.Namespace(), keys: map[string][]string{}}
	var named []string
	if err := json.Unmarshal(members["namespaces"], &named); err != nil {
		return document{}, malformed(fault.Issue{Path: "document.namespaces", Message: "must be an array of strings"})
	}
	for _, key := range built.OwnedKeys() {
		ns := authz.NamespaceOf(key)
		d.keys[ns] = append(d.keys[ns], key)
	}
	if !slices.Contains(named, d.primary) {
		return document{}, malformed(fault.Issue{Path: "document.namespace", Message: "is not one of document.namespaces"})
	}
	for i, ns := range named {
		switch {
		case slices.Contains(named[:i], ns):
			return document{}, malformed(fault.Issue{Path: "document.namespaces", Message: spell.Quote(ns) + " is named twice"})
		case ns == authz.InternalNamespace && ns != d.primary && len(d.keys[ns]) > 0:
			// The built-in leaves that every catalog may carry, and whose namespace
			// its document then lists: nobody's to register.
		case Reserved(ns):
			return document{}, fault.Registry("namespace_reserved", "the namespace %s is reserved", ns)
		default:
			d.namespaces = append(d.namespaces, ns)
		}
	}
	slices.Sort(d.namespaces)
	canonical, err := authz.Canonical(raw)
	if err != nil {
		return document{}, malformed(fault.Issue{Path: "document", Message: "holds a number that not everybody can read"})
	}
	sum := sha256.Sum256(canonical)
	d.sum = hex.EncodeToString(sum[:])
	return d, nil
}

func refusal(found []authz.Issue) *fault.Error {
	issues := make([]fault.Issue, len(found))
	for i, issue := range found {
		if issue.Code == catalog.CodeUnknownFormat {
			return fault.Registry("unsupported_format", "formatVersion must be %d", catalog.FormatVersion)
		}
		issues[i] = fault.Issue{Path: spell.Echo(issue.Path), Message: issue.Message}
	}
	return malformed(issues...)
}

// Reserved reports a namespace that no application of an org may have.
func Reserved(namespace string) bool {
	return namespace == "cloud" || namespace == authz.InternalNamespace
}
