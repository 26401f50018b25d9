/** Every workflow type that the control worker offers; the name of the export is the workflow type. */
export {}
