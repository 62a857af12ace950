package codegen

// OptionError is an option that no text can be written with.
type OptionError struct {
	Option string // "prefix", "package"
	Reason string
}

func (e *OptionError) Error() string { return e.Option + " " + e.Reason }
