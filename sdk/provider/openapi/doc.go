// Package openapi holds the OpenAPI 3.1 document of the provider API, normative
// for the wire and free of references to any language (provider-api §11). It
// reads nothing and imports nothing; tests keep the document in correspondence
// with the manifest provider.Operations and with what is served.
package openapi

import _ "embed"

// Document is authz-provider.v1.yaml.
//
//go:embed authz-provider.v1.yaml
var Document string
