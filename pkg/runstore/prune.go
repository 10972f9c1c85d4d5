package runstore

// prunedPrefix begins the names of folders of runs that are being removed.
const prunedPrefix = ".pruned-"
