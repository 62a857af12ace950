// Package openapi holds the OpenAPI 3.1 document of the hosted administrative API,
// made from its table of endpoints by go generate. It reads nothing and imports
// nothing; a test of package hosted keeps it current.
package openapi

import _ "embed"

//go:generate go run ../../../../internal/openapi/generate hosted hosted-api.v1.json

// Document is hosted-api.v1.json.
//
//go:embed hosted-api.v1.json
var Document []byte
