package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/application"
)

func TestMetricsThatAreOffAreUnsupportedOnceTheirParametersAreThere(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for op, parameter := range map[string]string{"reportMetrics": "batch", "getGrantUsage": "query", "getRevokeUsage": "query",
		"getRoleUsage": "query", "getPermissionUsage": "query", "getScopeTypeUsage": "query"} {
		w.post(op, `{}`).expectValidation(t, op+` requires the "`+parameter+`" field`)
		w.post(op, `{"`+parameter+`":{}}`).expectError(t, http.StatusNotImplemented, "ProviderWriteRejectedError", "unsupported",
			"metrics are not enabled on this Application")
	}
}

func TestAMalformedBatchIsRefusedAndStoresNothing(t *testing.T) {
	w := newWorld(t, worldOptions{metrics: &application.Metrics{}})
	spoiled := func(old, new string) string { return strings.Replace(batch, old, new, 1) }
	for body, message := range map[string]string{
		`[]`:                                   `reportMetrics: "batch" must be an object`,
		`"batch"`:                              `reportMetrics: "batch" must be an object`,
		`{}`:                                   "lacks instanceId",
		spoiled(`"dropped":0`, `"dropping":0`): "lacks dropped",
		spoiled(`"windowStart":`, `"WindowStart":`):              "lacks windowStart",
		spoiled(`1699999999000`, `1e300`):                        "windowStart",
		spoiled(`"estimated":4`, `"estimated":"4"`):              "estimated",
		spoiled(`"estimated":4`, `"estimated":1e999`):            "estimated",
		spoiled(`"decision":"allow"`, `"decision":"ALLOW"`):      "decision must be allow or deny",
		spoiled(`"gate":true`, `"gate":null`):                    "lacks gate",
		spoiled(`"rowId":"g"`, `"rowId":7`):                      "rowId",
		spoiled(`"rowId":"g"`, `"rowId":"a\u0000"`):              "must not contain U+0000",
		spoiled(`"revokes":[]`, `"revokes":[{"rowId":"r"}]`):     "lacks matched",
		spoiled(`"principals":{"distinct":1,`, `"principals":{`): "lacks distinct",
	} {
		w.post("reportMetrics", `{"batch":`+body+`}`).expectValidation(t, message)
	}
	if got := w.post("getGrantUsage", `{"query":{"since":0}}`); got.body != `{"usage":[]}` {
		t.Errorf("stored %s", got.body)
	}
}

func TestAUsageQueryIsReadStrictly(t *testing.T) {
	w := newWorld(t, worldOptions{metrics: &application.Metrics{}})
	for query, message := range map[string]string{
		`7`:               `getRoleUsage: "query" must be an object`,
		`{"ids":"r"}`:     "ids must be a list of strings",
		`{"ids":[1]}`:     "ids must be a list of strings",
		`{"since":"now"}`: "since must be an integer",
		`{"until":1.5}`:   "until must be an integer",
	} {
		w.post("getRoleUsage", `{"query":`+query+`}`).expectValidation(t, message)
	}
}
