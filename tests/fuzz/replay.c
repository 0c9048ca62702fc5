/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of fuzz targets in ordinary builds: hands every file of a folder to
 * LLVMFuzzerTestOneInput(), so that inputs that once broke a reader stay tests.
 */
#include "replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 1;
    size_t room = 1 << 20;
    unsigned char *bytes = malloc(room);
    size_t num = bytes ? fread(bytes, 1, room, file) : 0;
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, num);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    DIR *folder = opendir(argv[1]);
    if (!folder) {
        printf("skipped: no folder '%s'\n", argv[1]);
        return 77;
    }
    int failures = 0, files = 0;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        failures += replay_file(path);
        files++;
    }
    closedir(folder);
    printf("%d files replayed\n", files);
    return failures ? 1 : 0;
}
