package main

import "io"

// Here runs the coordinator in the process of a test, which takes a hundredth of the time of a process.
func Here(arguments []string, stdout, stderr io.Writer) (exit int) {
	root, app := newProgram()
	root.SetArgs(arguments)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return app.Main()
}
