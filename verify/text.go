package verify

const bom = "\ufeff"
