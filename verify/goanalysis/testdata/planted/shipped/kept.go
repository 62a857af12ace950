package shipped

func kept() string { return "signingKey" + signingKey }
