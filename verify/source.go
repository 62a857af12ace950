package verify

// scanText reads one source.
func (s *Scanner) scanText(file string, text []byte) (FileReport, error) {
	return FileReport{File: file}, nil
}
