package federation

// At has fn called at every point of a move; its error ends the turn there, as the death
// of the host does.
func (f *Federation) At(fn func(point string) error) { f.at = fn }
