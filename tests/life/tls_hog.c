/* Wants static TLS: 1408 of the 1664 bytes or so that glibc keeps for libraries loaded late. */
__attribute__((tls_model("initial-exec"))) static _Thread_local char hog[1408];
char *tls_hog(void);

char *tls_hog(void)
{
	return hog;
}
