// Package guarded is somebody's own client.
package guarded

func Can(key string) bool           { return true }
func Check(name string) bool        { return true }
func RequireGate(name string) error { return nil }

func ask() {
	_ = Can("docs.files.raed")
	Check("docs.files.raed")
	RequireGate("docs.files.raed")
}
