package alike

import "testing"

func TestNothing(*testing.T) {
	_ = n.Require("docs.files.raed", "") // alike
}
