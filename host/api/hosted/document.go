package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/api/hosted/openapi"
	"github.com/authzhost/authz/host/service"
)

// bare is a JSON document that is answered as it is.
type bare []byte

func (b bare) respond(c *Call, w http.ResponseWriter) error {
	if c.notModified(c.header.Get("ETag")) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeJSON(w, http.StatusOK, b)
	return nil
}

func describeRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/openapi.json", Summary: "This description", Gate: service.Public, Rate: rateAnybody, Produces: "application/json"},
		func(context.Context, *Call, struct{}) (bare, error) { return openapi.Document, nil })
}
