// Package openapi holds the OpenAPI 3.1 document of the provider API, normative
// for the wire and free of references to any language (spec: provider-api §11),
// made from provider.Operations by go generate. It reads nothing and imports
// nothing; tests keep the document current and in correspondence with what is
// served.
package openapi

import _ "embed"

//go:generate go run ../../../internal/openapi/generate provider authz-provider.v1.yaml

// Document is authz-provider.v1.yaml.
//
//go:embed authz-provider.v1.yaml
var Document string
