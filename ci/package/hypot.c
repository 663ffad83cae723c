/* hypot as glibc has had it from the beginning. Version 2.35 of glibc has another symbol of the same function, which differs in how it
 * sets errno only; a program that was linked with that one does not start where glibc is 2.34. The linker's --wrap leads here. */
double first_hypot(double x, double y);
__asm__(".symver first_hypot, hypot@GLIBC_2.2.5");

double __wrap_hypot(double x, double y);
double __wrap_hypot(double x, double y) { return first_hypot(x, y); }
