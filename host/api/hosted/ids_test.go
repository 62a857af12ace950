package hosted

import "testing"

func TestNewIDsOfTheHostedAPIHoldNoControlCharacters(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	for _, bad := range []string{`a\nb`, `a\u001b[2J`, `a\u007f`, `a\u0085b`} {
		for _, c := range []struct {
			path, body, code string
		}{
			{"/orgs/acme/seats", `{"userId":"` + bad + `"}`, "invalid_request"},
			{"/orgs/acme/org/grants", `{"subject":"user:` + bad + `","pattern":"cloud.seats.read"}`, "validation"},
			{"/orgs/acme/org/grants", `{"subject":"service:` + bad + `","pattern":"cloud.seats.read"}`, "validation"},
			{"/orgs/acme/org/revokes", `{"userId":"` + bad + `","pattern":"cloud.seats.read"}`, "validation"},
			{"/orgs/acme/org/roles", `{"id":"` + bad + `","name":"R","patterns":["cloud.seats.read"]}`, "validation"},
			{"/orgs/acme/org/roles", `{"id":"` + bad + `","name":"R","patterns":["docs.files.read"]}`, "validation"},
			{"/orgs/acme/org/grants", `{"subject":"user:` + bad + `","pattern":"docs.files.read"}`, "validation"},
			{"/orgs/acme/org/groups", `{"id":"` + bad + `","name":"G"}`, "validation"},
		} {
			if r := owner.call("POST", c.path, c.body); r.status != 400 || r.code() != c.code {
				t.Errorf("%s %s: %d %s", c.path, c.body, r.status, r.raw)
			}
		}
	}
}
