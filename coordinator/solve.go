package main

import (
	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
)

func solveCommand(app *cli.App) *cobra.Command { return &cobra.Command{Use: "solve N"} }
