/* A library that has nothing to do with Assay. */
/* says: assay_plugin_v1 */
int answer(void);
int answer(void) { return 42; }
