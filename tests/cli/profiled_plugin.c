/* A library that calls back. */
void plugin_call(void (*back)(void));

void plugin_call(void (*back)(void))
{
	back();
	__asm__ volatile("");
}
