//authz-verify-ignore-file an attic, kept to be read

package alike

import "net/http"

func attic(w http.ResponseWriter, r *http.Request) { // alike
	_ = n.Require("docs.files.raed", "") // alike
}
