/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included by the compiler before every file: turns functions that we do without into compile
 * errors that name the replacement. Everywhere: what cannot be bounded or cannot report an error.
 * With TRI_LIBRARY_CODE (src/): what only the command line does, printing, exiting and reading the
 * environment. The system headers that declare them are included first.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef strcpy
#undef strcat
#undef sprintf
#undef vsprintf
#undef strtok
#undef atoi
#undef atof
#undef rand
#define strcpy(...)   banned_strcpy_use_snprintf_or_memcpy
#define strcat(...)   banned_strcat_use_snprintf
#define sprintf(...)  banned_sprintf_use_snprintf
#define vsprintf(...) banned_vsprintf_use_vsnprintf
#define strtok(...)   banned_strtok_use_strchr
#define atoi(...)     banned_atoi_use_tri_option_set_or_strtoll
#define atof(...)     banned_atof_use_tri_option_set_or_strtod
#define rand(...)     banned_rand_use_base_rng

#ifdef TRI_LIBRARY_CODE
#undef getenv
#undef exit
#undef printf
#undef puts
#undef putchar
#undef perror
#undef stdout
#undef stderr
#define getenv(...)  banned_getenv_only_cli_reads_the_environment
#define exit(...)    banned_exit_return_a_status
#define printf(...)  banned_printf_only_cli_prints
#define puts(...)    banned_puts_only_cli_prints
#define putchar(...) banned_putchar_only_cli_prints
#define perror(...)  banned_perror_fill_the_error_record
#define stdout       banned_stdout_only_cli_prints
#define stderr       banned_stderr_only_cli_prints
#endif
