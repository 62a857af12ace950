package verify

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestMatchersOfMedusaCoverWhatMedusaRunsThemBefore has one route and one entry of
// defineMiddlewares at a time.
func TestMatchersOfMedusaCoverWhatMedusaRunsThemBefore(t *testing.T) {
	for _, c := range []struct {
		name, route, entry string
		gated              bool
	}{
		{"a path", "store/orders", `matcher: "/store/orders"`, true},
		{"below a path", "store/orders/[id]/lines", `matcher: "/store/orders"`, true},
		{"whole segments", "store/orders-all", `matcher: "/store/orders"`, false},
		{"another path", "store/returns", `matcher: "/store/orders"`, false},
		{"a longer path", "store", `matcher: "/store/orders"`, false},
		{"everything", "store", `matcher: "/"`, true},
		{"a path without methods for all", "store/orders", `matcher: "/store/orders", methods: ["GET", "POST"]`, true},
		{"another method", "store/orders", `matcher: "/store/orders", methods: ["POST"]`, false},
		{"the old name", "store/orders", `matcher: "/store/orders", method: "get"`, true},
		{"both names", "store/orders", `matcher: "/store/orders", method: "GET", methods: ["POST"]`, false},
		{"all methods", "store/orders", `matcher: "/store/orders", methods: ["ALL"]`, true},
		{"no methods", "store/orders", `matcher: "/store/orders", methods: []`, false},
		{"methods that cannot be read", "store/orders", `matcher: "/store/orders", methods: verbs()`, false},
		{"methods of a constant", "store/orders", `matcher: "/store/orders", methods: [verb]`, true},
		{"a method below a path", "store/orders/[id]", `matcher: "/store/orders", methods: ["GET"]`, false},
		{"a method used below a path", "store/orders/[id]", `matcher: "/store/orders", methods: ["USE"]`, true},
		{"a star", "store/orders/[id]/lines", `matcher: "/store/*", methods: ["GET"]`, true},
		{"a star of nothing", "store", `matcher: "/store/*", methods: ["GET"]`, false},
		{"a star behind a word", "store/orders-all/[id]", `matcher: "/store/orders*", methods: ["GET"]`, true},
		{"a star behind a word, and a parameter", "store/[id]", `matcher: "/store/o*"`, false},
		{"a star in the middle", "store/orders/lines", `matcher: "/*/orders/lines", methods: ["GET"]`, true},
		{"a star in the middle for one segment", "store/a/orders/lines", `matcher: "/*/orders/lines", methods: ["GET"]`, false},
		{"a parameter", "store/orders/[id]", `matcher: "/store/orders/:order", methods: ["GET"]`, true},
		{"a parameter before a word", "store/orders/count", `matcher: "/store/orders/:id", methods: ["GET"]`, false},
		{"a parameter for all methods", "store/orders/count", `matcher: "/store/orders/:id"`, true},
		{"a word for a parameter", "store/orders/[id]", `matcher: "/store/orders/count"`, false},
		{"a parameter with a pattern", "store/orders/[id]", `matcher: "/store/orders/:id(\\d+)"`, false},
		{"a group", "store/orders", `matcher: "/(store|admin)/orders"`, false},
		{"an optional part", "store/orders", `matcher: "/store/orders?"`, false},
		{"a regular expression", "store/orders", `matcher: /store/`, false},
		{"a constant", "store/orders", `matcher: path`, true},
		{"no matcher", "store/orders", `other: 1`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{
				"app/src/api/" + c.route + "/route.ts": "export async function GET() {}",
				"app/src/api/middlewares.ts": `import { authenticate, defineMiddlewares } from "@medusajs/framework/http";
					const path = "/store/orders", verb = "GET";
					export default defineMiddlewares([{ ` + c.entry + `, middlewares: [authenticate("user", "session")] }]);`,
			}
			found, judged := judgeAll(t, files, Exports{GateMiddleware: []string{"authenticate"}})
			if got := judged.Gated == 1; got != c.gated || len(found) == 0 != c.gated {
				t.Errorf("gated %v, want %v: %q", got, c.gated, found)
			}
			if found, _ := judgeAll(t, files, Exports{}); len(found) != 1 {
				t.Errorf("without authenticate: %q", found)
			}
		})
	}
}

func TestGatesOfMedusa(t *testing.T) {
	const route = "app/src/api/store/orders/route.ts"
	get := "export async function GET() {}"
	entry := func(middlewares string) string {
		return `export default defineMiddlewares({ routes: [{ matcher: "/store/orders", middlewares: ` + middlewares + ` }] })`
	}
	for _, c := range []struct {
		name, file, text, middlewares string
		gated                         bool
	}{
		{"options", route, get, entry(`[authenticate("user", "session", { allowUnregistered: true })]`), true},
		{"everybody", route, get, entry(`[authenticate("user", "session", { allowUnauthenticated: true })]`), false},
		{"everybody by a name", route, get, `const maybe = authenticate("user", "session", { allowUnauthenticated: true });` + entry("[maybe]"), false},
		{"options that cannot be read", route, get, entry(`[authenticate("user", "session", options)]`), false},
		{"options of a constant", route, get, `const options = { allowUnregistered: true };` + entry(`[authenticate("user", "session", options)]`), true},
		{"options that are spread", route, get, entry(`[authenticate("user", "session", { ...options })]`), false},
		{"the second of two", route, get, entry(`[log, authenticate("user", "session")]`), true},
		{"a list by a name", route, get, `const all = [authenticate("user", "session")];` + entry("all"), true},
		{"a list that is spread", route, get, `const all = [authenticate("user", "session")];` + entry("[log, ...all]"), true},
		{"a function that asks", route, get, entry("[async (req, res, next) => { " + gateCall + " next() }]"), true},
		{"a function that does not", route, get, entry("[async (req, res, next) => next()]"), false},
		{"no middleware", route, get, `export default defineMiddlewares([{ matcher: "/store/orders" }])`, false},
		{"by a name", route, get, `const m = ` + strings.TrimPrefix(entry(`[authenticate("user", "session")]`), "export default ") + "; export default m;", true},
		{"CommonJS", route, get, strings.Replace(entry(`[authenticate("user", "session")]`), "export default", "module.exports =", 1), true},
		{"another function", route, get, strings.Replace(entry(`[authenticate("user", "session")]`), "defineMiddlewares", "define", 1), false},
		{"a wrapper that is not known", route, "export const GET = wrap(async () => {});", entry(`[authenticate("user", "session")]`), true},
		{"routes of another file", route, "export * from './more'", entry(`[authenticate("user", "session")]`), true},
		{"admin", "app/src/api/admin/orders/route.ts", get, entry("[]"), true},
		{"admin that opts out", "app/src/api/admin/orders/route.ts", "export const AUTHENTICATE = false;" + get, entry("[]"), false},
		{"admin further down", "app/src/api/store/admin/route.ts", get, entry("[]"), false},
		{"a folder api below", "app/src/api/api/store/orders/route.ts", get, strings.Replace(entry(`[authenticate("user", "session")]`), "/store", "/api/store", 1), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{c.file: c.text, "app/src/api/middlewares.ts": c.middlewares, "app/src/api/store/orders/more.ts": get}
			found, judged := judgeAll(t, files, Exports{GateMiddleware: []string{"authenticate"}})
			if judged.ServerFunctions != 1 || judged.Gated == 1 != c.gated {
				t.Errorf("%+v, want gated %v: %q", judged, c.gated, found)
			}
		})
	}
}

// TestMiddlewareOfMedusaIsProposed: a project of Medusa, of which nothing is declared.
func TestMiddlewareOfMedusaIsProposed(t *testing.T) {
	files := map[string]string{
		"src/api/store/orders/route.ts":    "export async function GET() {}",
		"src/api/store/returns/route.ts":   "export async function GET() {}",
		"src/api/middlewares.ts":           `import { mine } from "./mine"; export default defineMiddlewares([{ matcher: "/store/orders", middlewares: [authenticate("user", "session"), validateAndTransformQuery(q)] }, { matcher: "/store/returns", middlewares: [mine] }])`,
		"src/api/mine.ts":                  "export const mine = (req, res, next) => { if (!req.user) return res.status(401).end(); next() }",
		"src/subscribers/order-created.ts": "export default async function () {}",
	}
	p, err := Propose(context.Background(), Config{Catalog: exampleCatalog(t), Files: slices.Sorted(maps.Keys(files)), Read: fromMap(files), Exports: &Exports{Resolve: relative(files)}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range p.GateMiddleware {
		names = append(names, g.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"authenticate", "mine"}) || len(p.ServerFilePatterns) != 1 || p.Judged != (Judged{2, 2, 0, 0, 0}) {
		t.Errorf("%q, %+v, %+v", names, p.ServerFilePatterns, p.Judged)
	}
}
