package audit

// Again is the second way to compute a total, for tests of its windows.
var Again = again
