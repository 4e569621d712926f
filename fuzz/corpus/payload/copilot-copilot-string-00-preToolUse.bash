{
 "sessionId": "128ea1a3",
 "timestamp": 1794706119251,
 "cwd": "/home/user/project",
 "toolName": "bash",
 "toolArgs": "{\"command\": \"rm -rf dist\", \"mode\": \"async\"}"
}
